"""Table of providers: the LangChain packages of their chat models, and what their servers refuse.

Names of providers, packages and classes are those of LangChain's `init_chat_model`
(reference.langchain.com/python/langchain/models). `init_chat_model` itself is not used, to avoid
the dependency on `langchain`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from manus.models.server_rules import ServerRules

_TOOL_IMAGES = ServerRules(tool_images=True)


@dataclass(frozen=True, slots=True)
class ProviderPackage:
    """The package of a provider, and the peculiarities of its chat model."""

    package: str
    """The name to install with pip."""
    model_class: str
    key: str = ""
    """The environment variable from which the package reads its key."""
    needs: str = ""
    """Description of what its client needs, if that is more than a key."""
    module: str = ""
    """The module of the class; if empty, the package's name with underscores."""
    extra: str = ""
    """The extra of this project that installs the package, if there is one."""
    attempts: dict[str, Any] = field(default_factory=lambda: {"max_retries": 0})
    """Arguments that disable retries in its client."""
    reports_end: bool = False
    """Whether each of its replies is known to have a finish reason."""
    wants_tools: bool = False
    """Whether calls in the history are rejected if the request offers no tools."""
    mark: dict[str, Any] | None = None
    """The prompt-cache mark: everything before it is cached."""
    marked: re.Pattern[str] = re.compile("")
    """Ids of the models that support the mark."""
    rules: ServerRules = _TOOL_IMAGES
    """What the provider accepts through the package."""

    @property
    def import_name(self) -> str:
        """Return the module of the class."""
        return self.module or self.package.replace("-", "_")

    @property
    def requirement(self) -> str:
        """Return a description of what its client needs."""
        return self.needs or f"a key: {self.key_names}"

    @property
    def key_names(self) -> str:
        """Return the names of the environment variables that may hold the key."""
        return f"MANUS_API_KEY or {self.key}" if self.key else "MANUS_API_KEY"

    @property
    def remedy(self) -> str:
        """Return the command that installs the package."""
        command = f"pip install {self.package}"
        if self.extra:
            command += f" (here: make setup EXTRAS={self.extra})"
        return command


_OPENAI_RULES: dict[str, Any] = {
    # platform.openai.com/docs/api-reference/chat; github.com/openai/openai-python/issues/2359
    "call_ids": ".{1,40}",
    "description_limit": 1024,
    "token_names": ("max_completion_tokens", "max_tokens"),
}
_ANTHROPIC_IDS = "[a-zA-Z0-9_-]{1,64}"
"""docs.anthropic.com/en/api/messages; API_runtime_ToolUseBlock in Amazon's reference of Bedrock."""
_MISTRAL_RULES: dict[str, Any] = {
    # mistral_common/protocol/instruct/validator.py, MistralRequestValidatorV3
    "user_after_tool": False,
    "call_ids": "[a-zA-Z0-9]{9}",
}
_REASONING_RULES: dict[str, Any] = {"missing_reasoning": False}
"""api-docs.deepseek.com/guides/thinking_mode; platform.moonshot.ai, "Use Kimi K2 Thinking"."""
OPENAI_HOST = "api.openai.com"
SERVERS: dict[str, dict[str, Any]] = {
    OPENAI_HOST: _OPENAI_RULES,
    # the usage is reported unasked: github.com/cline/cline/issues/939
    "mistral.ai": {**_MISTRAL_RULES, "dropped": frozenset({"stream_options"})},
    "deepseek.com": _REASONING_RULES,
    # "must not be empty", "must start with a letter": github.com/MoonshotAI/kimi-cli/issues
    "moonshot.ai": {**_REASONING_RULES, "empty_content": False},
    "moonshot.cn": {**_REASONING_RULES, "empty_content": False},
    "api.anthropic.com": {"call_ids": _ANTHROPIC_IDS},
    "ollama.com": {"null_content": False},
}
"""Deviations from the lenient rules by the end of a server's host name."""
MODELS: tuple[tuple[re.Pattern[str], dict[str, Any]], ...] = (
    # "Only … STRING type", "should be non-empty for OBJECT type": ai.google.dev/api/caching#Schema
    (re.compile(".*gemini"), {"json_schema": False}),
    (re.compile(r"(?:.*/)?(?:gpt-5|o1|o3|o4)"), {"token_names": _OPENAI_RULES["token_names"]}),
    (re.compile(r"(?:.*/)?(?:gpt-5|o1|o3|o4)(?!.*chat)"), {"temperature_with_reasoning": False}),
)
"""The same by the beginning of a model's name, for servers of any provider."""

ANTHROPIC = ProviderPackage(
    "langchain-anthropic",
    "ChatAnthropic",
    "ANTHROPIC_API_KEY",
    extra="anthropic",
    reports_end=True,
    wants_tools=True,
    mark={"cache_control": {"type": "ephemeral"}},
    rules=ServerRules(tool_images=True, call_ids=_ANTHROPIC_IDS, empty_content=False),
)
GOOGLE = ProviderPackage(
    "langchain-google-genai",
    "ChatGoogleGenerativeAI",
    "GOOGLE_API_KEY",
    extra="google",
    attempts={"max_retries": 1},  # it counts attempts, and 0 means its default
    reports_end=True,
    rules=ServerRules(tool_images=True, json_schema=False),
)
BEDROCK = ProviderPackage(
    "langchain-aws",
    "ChatBedrockConverse",
    needs="a region (AWS_REGION) and AWS credentials, or a Bedrock key in MANUS_API_KEY",
    extra="bedrock",
    attempts={},
    reports_end=True,
    wants_tools=True,
    mark={"cachePoint": {"type": "default"}},
    rules=ServerRules(tool_images=True, call_ids=_ANTHROPIC_IDS, empty_content=False),
    # "Prompt caching" in Amazon's user guide; Claude 3.5 Sonnet v2 for some customers only
    marked=re.compile(
        r"claude-(?:3-5-haiku|3-7|(?:opus|sonnet|haiku)-[4-9])|nova-(?:micro|lite|pro|premier)"
    ),
)
VERTEXAI = ProviderPackage(
    "langchain-google-vertexai",
    "ChatVertexAI",
    rules=ServerRules(tool_images=True, json_schema=False),
    needs="Google Cloud credentials (GOOGLE_APPLICATION_CREDENTIALS) and a project",
    extra="vertexai",
    attempts={"max_retries": 1},
    reports_end=True,
)
OLLAMA = ProviderPackage(
    "langchain-ollama",
    "ChatOllama",
    needs="a running Ollama (OLLAMA_HOST, or MANUS_BASE_URL)",
    extra="ollama",
    attempts={},
    reports_end=True,
)
OPENAI = ProviderPackage(
    "langchain-openai", "ChatOpenAI", "OPENAI_API_KEY", reports_end=True, rules=ServerRules()
)
"""For a chat model built by the caller; this project's own clients do not use it."""
OTHER = ProviderPackage("", "")
"""For a chat model of any other package, built by the caller."""

PACKAGES = {
    "anthropic": ANTHROPIC,
    "google": GOOGLE,
    "bedrock": BEDROCK,
    "ollama": OLLAMA,
    "groq": ProviderPackage(
        "langchain-groq", "ChatGroq", "GROQ_API_KEY", extra="groq", reports_end=True
    ),
    "mistralai": ProviderPackage(
        "langchain-mistralai",
        "ChatMistralAI",
        "MISTRAL_API_KEY",
        extra="mistralai",
        reports_end=True,
        rules=ServerRules(**_MISTRAL_RULES),
    ),
    "deepseek": ProviderPackage(
        "langchain-deepseek", "ChatDeepSeek", "DEEPSEEK_API_KEY", extra="deepseek", reports_end=True
    ),
    "xai": ProviderPackage(
        "langchain-xai", "ChatXAI", "XAI_API_KEY", extra="xai", reports_end=True
    ),
    "google_vertexai": VERTEXAI,
    "openrouter": ProviderPackage(
        "langchain-openrouter", "ChatOpenRouter", "OPENROUTER_API_KEY", reports_end=True
    ),
    "together": ProviderPackage(
        "langchain-together", "ChatTogether", "TOGETHER_API_KEY", reports_end=True
    ),
    "fireworks": ProviderPackage(
        "langchain-fireworks", "ChatFireworks", "FIREWORKS_API_KEY", reports_end=True
    ),
    "perplexity": ProviderPackage("langchain-perplexity", "ChatPerplexity", "PPLX_API_KEY"),
    "cohere": ProviderPackage("langchain-cohere", "ChatCohere", "COHERE_API_KEY"),
    "nvidia": ProviderPackage("langchain-nvidia-ai-endpoints", "ChatNVIDIA", "NVIDIA_API_KEY"),
    "upstage": ProviderPackage("langchain-upstage", "ChatUpstage", "UPSTAGE_API_KEY"),
    "baseten": ProviderPackage("langchain-baseten", "ChatBaseten", "BASETEN_API_KEY"),
    "meta": ProviderPackage("langchain-meta", "ChatMetaModel"),
    "litellm": ProviderPackage("langchain-litellm", "ChatLiteLLM"),
    "ibm": ProviderPackage("langchain-ibm", "ChatWatsonx"),
    "huggingface": ProviderPackage(
        "langchain-huggingface", "ChatHuggingFace", "HUGGINGFACEHUB_API_TOKEN"
    ),
    "azure_ai": ProviderPackage(
        "langchain-azure-ai",
        "AzureAIOpenAIApiChatModel",
        module="langchain_azure_ai.chat_models",
    ),
    "anthropic_bedrock": ProviderPackage(
        "langchain-aws", "ChatAnthropicBedrock", needs="AWS credentials", extra="bedrock"
    ),
    "bedrock_mantle_anthropic": ProviderPackage(
        "langchain-aws", "ChatAnthropicMantle", needs="AWS credentials", extra="bedrock"
    ),
    "bedrock_mantle_openai": ProviderPackage(
        "langchain-aws", "ChatOpenAIMantle", needs="AWS credentials", extra="bedrock"
    ),
    "google_anthropic_vertex": ProviderPackage(
        "langchain-google-vertexai",
        "ChatAnthropicVertex",
        needs="Google Cloud credentials",
        module="langchain_google_vertexai.model_garden",
        extra="vertexai",
    ),
}
"""By provider, the part of a model's name before the colon."""


def find_package(model: object) -> ProviderPackage:
    """Return the package that a chat model's class, or one of its bases, comes from."""
    for base in type(model).__mro__:
        top_module = base.__module__.partition(".")[0]
        for package in (*PACKAGES.values(), OPENAI):
            if top_module == package.import_name.partition(".")[0]:
                return package
    return OTHER
