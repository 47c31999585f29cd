"""What each provider's server is asked about a key and a model before a run."""

from typing import Any

import pytest

from manus.inquiry import inquiry_of
from manus.state.model_settings import ModelSettings
from tests.manus.paths import Paths
from tests.manus.program import Program

KEY = "sk-very-secret"


def _error(**told: object) -> dict[str, Any]:
    return {"error": told}


ANTHROPIC_401 = _error(type="authentication_error", message="No.")
ANTHROPIC_404 = _error(type="not_found_error", message="model: claude")
GOOGLE_400 = _error(code=400, message="API key not valid.", status="INVALID_ARGUMENT")
GOOGLE_404 = _error(code=404, message="models/gemini is not found", status="NOT_FOUND")
AZURE = "?api-version=2024-10-21"


@pytest.mark.parametrize(
    ("model", "field", "answers", "said"),
    [
        (
            "anthropic:claude",
            "x-api-key",
            {
                "GET /v1/models/claude": (401, ANTHROPIC_401),
                "POST /v1/messages": (401, ANTHROPIC_401),
            },
            "refused the key (401); check MANUS_API_KEY or ANTHROPIC_API_KEY",
        ),
        (
            "anthropic:claude",
            "x-api-key",
            {"GET /v1/models/claude": (404, ANTHROPIC_404)},
            "does not know the model `anthropic:claude`",
        ),
        (
            "google:gemini",
            "x-goog-api-key",
            {
                "GET /v1beta/models/gemini": (400, GOOGLE_400),
                "POST /v1beta/models/gemini:generateContent": (400, GOOGLE_400),
            },
            "refused the key (400); check MANUS_API_KEY or GOOGLE_API_KEY",
        ),
        (
            "google:gemini",
            "x-goog-api-key",
            {"GET /v1beta/models/gemini": (404, GOOGLE_404)},
            "does not know the model `google:gemini`",
        ),
        (
            "azure:mine",
            "api-key",
            {
                f"GET /openai/models{AZURE}": 401,
                f"POST /openai/deployments/mine/chat/completions{AZURE}": 401,
            },
            "refused the key (401); check MANUS_API_KEY",
        ),
    ],
    ids=["Anthropic's key", "its model", "Google's key", "its model", "Azure's key"],
)
def test_other_providers(
    bare: Program, model: str, field: str, answers: dict[str, Any], said: str
) -> None:
    with Paths(answers) as server:
        result = bare(
            "run", "Hi.", MANUS_MODEL=model, MANUS_BASE_URL=server.address, MANUS_API_KEY=KEY
        )
        assert server.asked == list(answers)
        assert [fields[field] for fields in server.fields] == [KEY] * len(answers)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"manus: The model server at {server.address} {said}")
    assert KEY not in result.err


@pytest.mark.parametrize(
    ("model", "environment"),
    [
        ("anthropic:claude", {}),
        ("anthropic:claude", {"ANTHROPIC_API_KEY": "a", "ANTHROPIC_BASE_URL": "http://gateway"}),
        ("anthropic:claude", {"ANTHROPIC_API_KEY": "a", "ANTHROPIC_CUSTOM_HEADERS": "X: y"}),
        ("google:gemini", {"GOOGLE_API_KEY": "a", "GEMINI_API_KEY": "b"}),
        ("google:gemini", {"GOOGLE_API_KEY": "a", "GOOGLE_GENAI_USE_VERTEXAI": "true"}),
        ("azure:mine", {"AZURE_OPENAI_API_KEY": "a"}),
        ("bedrock:claude", {"AWS_REGION": "eu-west-1"}),
        ("replay:file.jsonl", {}),
        ("gpt-5", {"ANTHROPIC_API_KEY": "a"}),
    ],
)
def test_where_the_way_of_a_client_is_not_known_nothing_is_asked(
    model: str, environment: dict[str, str]
) -> None:
    assert inquiry_of(ModelSettings(model=model), environment) is None


def test_keys_of_the_environment() -> None:
    claude = inquiry_of(ModelSettings(model="anthropic:c"), {"ANTHROPIC_API_KEY": "a"})
    assert claude is not None
    assert (claude.address, claude.fields["x-api-key"]) == ("https://api.anthropic.com", "a")
    gemini = inquiry_of(ModelSettings(model="google:models/g"), {"GEMINI_API_KEY": "b"})
    assert gemini is not None
    assert (gemini.model, gemini.fields["x-goog-api-key"]) == ("/v1beta/models/g", "b")
