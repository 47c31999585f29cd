"""Table of providers: all that the program knows of a provider or model server by its name.

Names of providers, packages and classes are those of LangChain's `init_chat_model`
(reference.langchain.com/python/langchain/models). `init_chat_model` itself is not used, to avoid
the dependency on `langchain`. Rules are fields of `manus.models.server_rules.ServerRules`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Rules = Mapping[str, Any]

_TOOL_IMAGES: Rules = {"tool_images": True}
_OPENAI_RULES: Rules = {
    # platform.openai.com/docs/api-reference/chat; github.com/openai/openai-python/issues/2359
    "call_ids": ".{1,40}",
    "description_limit": 1024,
    "token_names": ("max_completion_tokens", "max_tokens"),
}
_ANTHROPIC_IDS: Rules = {"call_ids": "[a-zA-Z0-9_-]{1,64}"}
"""docs.anthropic.com/en/api/messages; API_runtime_ToolUseBlock in Amazon's reference of Bedrock."""
_ANTHROPIC_RULES: Rules = {**_TOOL_IMAGES, **_ANTHROPIC_IDS, "empty_content": False}
_MISTRAL_RULES: Rules = {
    # mistral_common/protocol/instruct/validator.py, MistralRequestValidatorV3
    "user_after_tool": False,
    "call_ids": "[a-zA-Z0-9]{9}",
}
_GOOGLE_RULES: Rules = {**_TOOL_IMAGES, "json_schema": False}
"""\"Only … STRING type", "should be non-empty for OBJECT type": ai.google.dev/api/caching#Schema"""
_REASONING_RULES: Rules = {"missing_reasoning": False}
"""api-docs.deepseek.com/guides/thinking_mode; platform.moonshot.ai, "Use Kimi K2 Thinking"."""
_MOONSHOT_RULES: Rules = {**_REASONING_RULES, "empty_content": False}
"""\"must not be empty", "must start with a letter": github.com/MoonshotAI/kimi-cli/issues"""


@dataclass(frozen=True, slots=True)
class Provider:
    """The package of a provider, and the peculiarities of its chat model and its server."""

    package: str
    """The name to install with pip."""
    model_class: str
    key: str = ""
    """The environment variable from which the package reads its key."""
    needs: str = ""
    """Description of what its client needs, if that is more than a key."""
    credentials: str = ""
    """Description of what to check if the server refuses the key, if that is more than a key."""
    module: str = ""
    """The module of the class; if empty, the package's name with underscores."""
    extra: str = ""
    """The extra of this project that installs the package, if there is one."""
    attempts: Mapping[str, Any] = field(default_factory=lambda: {"max_retries": 0})
    """Arguments that disable retries in its client."""
    client_config: str = ""
    """The module of the class `Config` that holds its client's timeouts and retries."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of arguments by setting, where the class has names of its own."""
    reports_end: bool = False
    """Whether each of its replies is known to have a finish reason."""
    wants_tools: bool = False
    """Whether calls in the history are rejected if the request offers no tools."""
    mark: Mapping[str, Any] | None = None
    """The prompt-cache mark: everything before it is cached."""
    marked: str = ""
    """Pattern of the ids of the models that support the mark."""
    rules: Rules = field(default_factory=lambda: _TOOL_IMAGES)
    """What the provider accepts through the package, where it differs from the lenient rules."""
    own_host: str = ""
    """The end of a host name in `SERVERS` whose rules apply, wherever the server is."""
    product: str = ""
    """The server product whose own protocol the package uses."""
    title: str = ""
    """Its name in a list to choose from."""
    suggestion: str = ""
    """The model that is suggested there."""

    @property
    def import_name(self) -> str:
        """Return the module of the class."""
        return self.module or self.package.replace("-", "_")

    @property
    def is_own(self) -> bool:
        """Return whether its client is part of this project."""
        return self.module.startswith("manus.")

    @property
    def requirement(self) -> str:
        """Return a description of what its client needs."""
        return self.needs or f"a key: {self.key_names}"

    @property
    def key_names(self) -> str:
        """Return the names of the environment variables that may hold the key."""
        names = f"MANUS_API_KEY or {self.key}" if self.key else "MANUS_API_KEY"
        return self.credentials or names

    @property
    def remedy(self) -> str:
        """Return the command that installs the package."""
        command = f"pip install {self.package}"
        if self.extra:
            command += f" (here: make setup EXTRAS={self.extra})"
        return command


DEFAULT_PROVIDER = "openai"
"""The provider of names without one; its protocol is that of compatible servers."""
DEFAULT_MODEL = "gpt-5"
"""The model that is used if only a key is set."""
DEFAULT_ADDRESS = "https://api.openai.com/v1"
DEFAULT_KEY = "OPENAI_API_KEY"
DEFAULT_VARIABLES = {DEFAULT_KEY: "api_key", "OPENAI_BASE_URL": "base_url"}
"""Settings by variables that other tools read, so that a shell set up for them works."""

PROVIDERS: dict[str, Provider] = {
    DEFAULT_PROVIDER: Provider(
        "langchain-openai",
        "FastChatOpenAI",
        DEFAULT_KEY,
        module="manus.models.openai_chat",
        reports_end=True,
        rules={},
        title="OpenAI",
        suggestion=DEFAULT_MODEL,
    ),
    "azure": Provider(
        "langchain-openai",
        "FastAzureChatOpenAI",
        module="manus.models.azure_chat",
        rules={},
        own_host="api.openai.com",
    ),
    "anthropic": Provider(
        "langchain-anthropic",
        "ChatAnthropic",
        "ANTHROPIC_API_KEY",
        extra="anthropic",
        reports_end=True,
        wants_tools=True,
        mark={"cache_control": {"type": "ephemeral"}},
        rules=_ANTHROPIC_RULES,
        title="Anthropic",
        suggestion="claude-sonnet-4-5",
    ),
    "google": Provider(
        "langchain-google-genai",
        "ChatGoogleGenerativeAI",
        "GOOGLE_API_KEY",
        extra="google",
        attempts={"max_retries": 1},  # it counts attempts, and 0 means its default
        reports_end=True,
        rules=_GOOGLE_RULES,
        title="Google",
        suggestion="gemini-2.5-pro",
    ),
    "bedrock": Provider(
        "langchain-aws",
        "ChatBedrockConverse",
        needs="a region (AWS_REGION) and AWS credentials, or a Bedrock key in MANUS_API_KEY",
        credentials="the AWS credentials (or MANUS_API_KEY) and the account's access to the model",
        extra="bedrock",
        attempts={},
        client_config="botocore.config",
        reports_end=True,
        wants_tools=True,
        mark={"cachePoint": {"type": "default"}},
        rules=_ANTHROPIC_RULES,
        # "Prompt caching" in Amazon's user guide; Claude 3.5 Sonnet v2 for some customers only
        marked=r"claude-(?:3-5-haiku|3-7|(?:opus|sonnet|haiku)-[4-9])|nova-(?:micro|lite|pro|premier)",
    ),
    "ollama": Provider(
        "langchain-ollama",
        "ChatOllama",
        needs="a running Ollama (OLLAMA_HOST, or MANUS_BASE_URL)",
        extra="ollama",
        attempts={},
        names={"context_window": "num_ctx", "reasoning_effort": "reasoning"},
        reports_end=True,
        product="Ollama",
    ),
    "groq": Provider("langchain-groq", "ChatGroq", "GROQ_API_KEY", extra="groq", reports_end=True),
    "mistralai": Provider(
        "langchain-mistralai",
        "ChatMistralAI",
        "MISTRAL_API_KEY",
        extra="mistralai",
        reports_end=True,
        rules={**_TOOL_IMAGES, **_MISTRAL_RULES},
    ),
    "deepseek": Provider(
        "langchain-deepseek", "ChatDeepSeek", "DEEPSEEK_API_KEY", extra="deepseek", reports_end=True
    ),
    "xai": Provider("langchain-xai", "ChatXAI", "XAI_API_KEY", extra="xai", reports_end=True),
    "google_vertexai": Provider(
        "langchain-google-vertexai",
        "ChatVertexAI",
        needs="Google Cloud credentials (GOOGLE_APPLICATION_CREDENTIALS) and a project",
        extra="vertexai",
        attempts={"max_retries": 1},
        reports_end=True,
        rules=_GOOGLE_RULES,
    ),
    "openrouter": Provider(
        "langchain-openrouter", "ChatOpenRouter", "OPENROUTER_API_KEY", reports_end=True
    ),
    "together": Provider(
        "langchain-together", "ChatTogether", "TOGETHER_API_KEY", reports_end=True
    ),
    "fireworks": Provider(
        "langchain-fireworks", "ChatFireworks", "FIREWORKS_API_KEY", reports_end=True
    ),
    "perplexity": Provider("langchain-perplexity", "ChatPerplexity", "PPLX_API_KEY"),
    "cohere": Provider("langchain-cohere", "ChatCohere", "COHERE_API_KEY"),
    "litellm": Provider("langchain-litellm", "ChatLiteLLM"),
    "ibm": Provider("langchain-ibm", "ChatWatsonx"),
    "huggingface": Provider("langchain-huggingface", "ChatHuggingFace", "HUGGINGFACEHUB_API_TOKEN"),
    "azure_ai": Provider(
        "langchain-azure-ai", "AzureAIOpenAIApiChatModel", module="langchain_azure_ai.chat_models"
    ),
}
"""By provider, the part of a model's name before the colon; any other prefix belongs to a name."""
OTHER = Provider("", "")
"""For a chat model of any other package, built by the caller."""
ALIASES = {
    "azure_openai": "azure",
    "google_genai": "google",
    "bedrock_converse": "bedrock",
    "vertexai": "google_vertexai",
}
"""Other names of providers: those of LangChain's `init_chat_model`, and shorter ones."""
SPAN_NAMES = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "google": "gcp.gemini",
    "google_vertexai": "gcp.vertex_ai",
    "ibm": "ibm.watsonx.ai",
    "mistralai": "mistral_ai",
    "xai": "x_ai",
}
"""Names in OpenTelemetry's conventions, where they differ."""
KEY_PREFIXES = ("OPENAI", "AZURE", "ANTHROPIC", "GOOGLE", "GEMINI", "AWS")
"""Beginnings of the variables that configure clients of providers."""

SERVERS: dict[str, Rules] = {
    "api.openai.com": _OPENAI_RULES,
    # the usage is reported unasked: github.com/cline/cline/issues/939
    "mistral.ai": {**_MISTRAL_RULES, "dropped": frozenset({"stream_options"})},
    "deepseek.com": _REASONING_RULES,
    "moonshot.ai": _MOONSHOT_RULES,
    "moonshot.cn": _MOONSHOT_RULES,
    "api.anthropic.com": _ANTHROPIC_IDS,
    "ollama.com": {"null_content": False},
}
"""Deviations from the lenient rules by the end of a server's host name."""

_REASONING_MODELS = r"(?:.*/)?(?:gpt-5|o1|o3|o4)"
MODELS: dict[str, Rules] = {
    ".*gemini": {"json_schema": False},
    ".*gemini-[3-9]": {"unsigned_calls": False},  # ai.google.dev/gemini-api/docs/thought-signatures
    _REASONING_MODELS: {"token_names": _OPENAI_RULES["token_names"]},
    f"{_REASONING_MODELS}(?!.*chat)": {"temperature_with_reasoning": False},
}
"""The same by a pattern of the beginning of a model's name, for servers of any provider."""
WINDOWS = {
    "gpt-5": 272_000,
    "gpt-4.1": 1_047_576,
    "gpt-4o": 128_000,
    "gpt-4-turbo": 128_000,
    "gpt-4": 8_192,
    "gpt-3.5": 16_385,
    "o1": 200_000,
    "o3": 200_000,
    "o4": 200_000,
    "claude": 200_000,
    "gemini": 1_048_576,
    "deepseek": 64_000,
    "qwen2.5": 32_768,
    "qwen3": 40_960,
    "llama3:": 8_192,
    "mistral": 32_768,
}
"""Input tokens by the prefix of a model's name, for models whose package reports none."""


class ServerProduct(NamedTuple):
    """A program that serves models, usually on the user's own machine."""

    owner: str
    """What it reports as `owned_by` of a model."""
    window: str
    """The setting for a larger context window."""
    calls: str
    """The setting that makes it parse tool calls."""
    probe: tuple[str, str, str] | None = None
    """A path, the key of models or settings there, and the key of the context window in those."""
    port: int | None = None
    """The default port, if it is looked for on this machine."""
    variable: str = ""
    """The environment variable with its address."""


PRODUCTS = {
    "Ollama": ServerProduct(
        "library",
        "start Ollama with OLLAMA_CONTEXT_LENGTH={wanted}, or give the model's Modelfile "
        "`PARAMETER num_ctx {wanted}`",
        "in Ollama, use a model whose page lists `tools`, or give its Modelfile a TEMPLATE with "
        "tools",
        ("/api/ps", "models", "context_length"),  # docs.ollama.com/api
        11434,
        "OLLAMA_HOST",
    ),
    "LM Studio": ServerProduct(
        "organization_owner",
        "load the model in LM Studio with a context length of {wanted} "
        "(`lms load MODEL --context-length {wanted}`)",
        "load a build of the model that LM Studio marks for tool use",
        ("/api/v0/models", "data", "loaded_context_length"),  # lmstudio.ai/docs/api/rest-api
        1234,
    ),
    "llama.cpp": ServerProduct(
        "llamacpp",
        "start llama-server with `-c {wanted}` (for each slot of `-np`)",
        "start llama-server with `--jinja`",
        ("/props", "default_generation_settings", "n_ctx"),  # tools/server/README.md
        8080,
    ),
    "vLLM": ServerProduct(
        "vllm",
        "start vLLM with `--max-model-len {wanted}`",
        "start vLLM with `--enable-auto-tool-choice --tool-call-parser PARSER`",
        port=8000,
    ),
    "SGLang": ServerProduct(
        "sglang",
        "start SGLang with `--context-length {wanted}`",
        "start SGLang with `--tool-call-parser PARSER`",
    ),
}
"""By name; those without a probe report the window in their list of models."""

CLIENTS: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        ("aiohttp", "httpcore", "httpcore2", "httpx", "httpx2", "urllib3"), frozenset()
    ),
    **dict.fromkeys(("anthropic", "groq", "ollama", "openai"), frozenset()),
    "botocore": frozenset(
        {"ConnectionError", "HTTPClientError", "IncompleteReadError", "ResponseStreamingError"}
    ),
}
"""By package, the base classes of those of its exceptions that concern the connection; if empty,
all that have no status do."""
UNSIGNED = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""`extra_content` of a call that another model has made (ai.google.dev/gemini-api/docs/openai)."""
CALL_SIGNATURES = "__gemini_function_call_thought_signatures__"
"""Key of a package's messages: sealed reasoning by the id of a call."""
