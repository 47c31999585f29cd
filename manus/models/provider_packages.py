"""Providers whose chat models come in a LangChain package of their own, as a table.

Names of providers, packages and classes are those of LangChain's `init_chat_model`
(reference.langchain.com/python/langchain/models); `init_chat_model` itself is not used, since the
package `langchain` is not needed for anything else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ProviderPackage:
    """The package of a provider, and how its chat model differs from the others."""

    package: str
    """To be installed with pip."""
    model_class: str
    key: str = ""
    """The environment variable from which the package reads its key."""
    needs: str = ""
    """What its client cannot be made without, where that is more than a key."""
    module: str = ""
    """Where the class is; empty: the package's name, with underscores."""
    extra: str = ""
    """The extra of this project that installs the package, if there is one."""
    attempts: dict[str, Any] = field(default_factory=lambda: {"max_retries": 0})
    """What keeps its client from trying again by itself."""
    reports_end: bool = False
    """Whether each of its replies is known to say why it ended."""
    wants_tools: bool = False
    """Calls in the history are refused where the request offers no tools."""
    mark: dict[str, Any] | None = None
    """What tells it to cache what comes before."""
    marked: re.Pattern[str] = re.compile("")
    """Models that know the mark, by their ids."""

    @property
    def import_name(self) -> str:
        """The module that has the class."""
        return self.module or self.package.replace("-", "_")

    @property
    def requirement(self) -> str:
        """What its client cannot be made without, in words."""
        return self.needs or f"a key: {self.key_names}"

    @property
    def key_names(self) -> str:
        """The environment variables that may hold the key, in words."""
        return f"MANUS_API_KEY or {self.key}" if self.key else "MANUS_API_KEY"

    @property
    def remedy(self) -> str:
        """How to install it."""
        how = f"pip install {self.package}"
        return f"{how} (here: make setup EXTRAS={self.extra})" if self.extra else how


ANTHROPIC = ProviderPackage(
    "langchain-anthropic",
    "ChatAnthropic",
    "ANTHROPIC_API_KEY",
    extra="anthropic",
    reports_end=True,
    wants_tools=True,
    mark={"cache_control": {"type": "ephemeral"}},
)
GOOGLE = ProviderPackage(
    "langchain-google-genai",
    "ChatGoogleGenerativeAI",
    "GOOGLE_API_KEY",
    extra="google",
    attempts={"max_retries": 1},  # it counts attempts, and takes none for its default
    reports_end=True,
)
BEDROCK = ProviderPackage(
    "langchain-aws",
    "ChatBedrockConverse",
    needs="a region (AWS_REGION) and credentials of AWS, or a Bedrock key in MANUS_API_KEY",
    extra="bedrock",
    attempts={},
    reports_end=True,
    wants_tools=True,
    mark={"cachePoint": {"type": "default"}},
    # "Prompt caching" in Amazon's user guide; Claude 3.5 Sonnet v2 for some customers only
    marked=re.compile(
        r"claude-(?:3-5-haiku|3-7|(?:opus|sonnet|haiku)-[4-9])|nova-(?:micro|lite|pro|premier)"
    ),
)
VERTEXAI = ProviderPackage(
    "langchain-google-vertexai",
    "ChatVertexAI",
    needs="credentials of Google Cloud (GOOGLE_APPLICATION_CREDENTIALS) and a project",
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
OPENAI = ProviderPackage("langchain-openai", "ChatOpenAI", "OPENAI_API_KEY", reports_end=True)
"""For a chat model that a caller has made; our own clients are built without it."""
OTHER = ProviderPackage("", "")
"""A chat model of any other package, as a caller has made it."""

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
        "langchain-aws", "ChatAnthropicBedrock", needs="credentials of AWS", extra="bedrock"
    ),
    "bedrock_mantle_anthropic": ProviderPackage(
        "langchain-aws", "ChatAnthropicMantle", needs="credentials of AWS", extra="bedrock"
    ),
    "bedrock_mantle_openai": ProviderPackage(
        "langchain-aws", "ChatOpenAIMantle", needs="credentials of AWS", extra="bedrock"
    ),
    "google_anthropic_vertex": ProviderPackage(
        "langchain-google-vertexai",
        "ChatAnthropicVertex",
        needs="credentials of Google Cloud",
        module="langchain_google_vertexai.model_garden",
        extra="vertexai",
    ),
}
"""By the provider's name, as it stands before the colon."""


def package_of(model: object) -> ProviderPackage:
    """Return the package that a chat model's class, or one of its bases, comes from."""
    for base in type(model).__mro__:
        home = base.__module__.partition(".")[0]
        for package in (*PACKAGES.values(), OPENAI):
            if home == package.import_name.partition(".")[0]:
                return package
    return OTHER
