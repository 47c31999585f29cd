"""Where a setting comes from, and the error message if it is invalid."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from manus.config.model_settings import ModelSettings
from manus.config.settings import Settings, load_settings
from manus.state.errors import SettingsError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "manus.toml"


def _refusal(environment: dict[str, str], file: Path) -> str:
    with pytest.raises(SettingsError) as caught:
        load_settings(environment, file)
    return str(caught.value)


GIVEN = [
    ("model", "m", "m"),
    ("api_key", " k\n", SecretStr("k")),  # surrounding blanks are ignored
    ("temperature", "0.5", 0.5),
    ("vision", "false", False),
    ("max_steps", "7", 7),
]


def test_the_environment_comes_before_the_file_and_the_file_before_the_default(file: Path) -> None:
    assert load_settings({}, file) == Settings()
    assert (Settings().workspace, Settings().profile) == ("./workspace", "manus")
    assert Settings().api_key is None
    settings = load_settings(
        {f"MANUS_{name.upper()}": variable for name, variable, _ in GIVEN}, file
    )
    assert [getattr(settings, name) for name, _, _ in GIVEN] == [value for *_, value in GIVEN]
    file.write_text('model = "from-file"\nworkspace = "w"\nmax_steps = 3\n')
    settings = load_settings({"MANUS_MODEL": "from-env", "MANUS_TIMEOUT": "2.5"}, file)
    assert (settings.model, settings.workspace, settings.max_steps) == ("from-env", "w", 3)
    assert (settings.timeout, settings.vision) == (2.5, True)
    assert load_settings({"MANUS_MODEL": " "}, file).model == "from-file", (
        "an empty value counts as unset"
    )


def test_openai_variables_apply_if_ours_are_not_set(file: Path) -> None:
    environment = {"OPENAI_API_KEY": "theirs", "OPENAI_BASE_URL": "http://theirs"}
    settings = load_settings(environment, file)
    assert (settings.api_key, settings.base_url) == (SecretStr("theirs"), "http://theirs")
    settings = load_settings({**environment, "MANUS_API_KEY": "ours"}, file)
    assert (settings.api_key, settings.base_url) == (SecretStr("ours"), "http://theirs")
    other = {**environment, "MANUS_MODEL": "anthropic:claude"}
    assert load_settings(other, file).api_key is None, "it is not sent to another provider"
    file.write_text('api_key = "ours"\nbase_url = "http://ours"\n')
    settings = load_settings(environment, file)
    assert (settings.api_key, settings.base_url) == (SecretStr("ours"), "http://ours")


def test_a_role_overrides_what_it_sets_of_main(file: Path) -> None:
    file.write_text(
        'model = "big"\nbase_url = "http://m"\napi_key = "k"\nretry_for = 1\n'
        "context_window = 8000\n"
        '[roles.summary]\nmodel = "small"\nretry_for = 0\n'
        '[roles.vision]\nmodel = "anthropic:claude"\n'
    )
    settings = load_settings({}, file)
    summary = settings.for_role("summary")
    assert (summary.model, summary.retry_for, summary.base_url) == ("small", 0, "http://m")
    assert summary.api_key == SecretStr("k")
    assert settings.for_role("plan").model == "big"
    windows = [settings.for_role(role).context_window for role in ("plan", "summary")]
    assert windows == [8000, None], "another model has its own window"
    assert type(settings.for_role("plan")) is ModelSettings
    vision = settings.for_role("vision")
    assert (vision.base_url, vision.api_key) == (None, None), "another provider's"


def test_the_error_of_an_invalid_value_names_its_variable_or_file(file: Path) -> None:
    assert _refusal({"MANUS_MAX_STEPS": "many"}, file) == (
        "MANUS_MAX_STEPS: `max_steps` is 'many', which is not valid: "
        "input should be a valid integer, unable to parse string as an integer."
    )
    file.write_text("[roles.plan]\ntimeout = -1\n")
    assert _refusal({}, file) == (
        f"{file}: `roles.plan.timeout` is -1, which is not valid: input should be greater than 0."
    )
    file.write_text('api_key = ["hush"]\n')  # a key is never printed
    message = _refusal({}, file)
    assert message.startswith(f"{file}: `api_key` is not valid: ")
    assert "hush" not in message
    assert "hush" not in repr(load_settings({"MANUS_API_KEY": "hush"}, file))


@pytest.mark.parametrize(
    ("variable", "text", "values"),
    [
        ("MANUS_EGRESS_ALLOW", "a.example", ("a.example",)),
        ("MANUS_EGRESS_ALLOW", " a.example , b.example,", ("a.example", "b.example")),
        ("MANUS_SEARCH_ENGINES", "searxng,yahoo", ("searxng", "yahoo")),
        ("MANUS_APPROVE_DENY", "bash(git a,b), mcp_*", ("bash(git a,b)", "mcp_*")),
        ("MANUS_SANDBOX_READ", "/opt/a,/opt/b", ("/opt/a", "/opt/b")),
    ],
)
def test_a_list_in_the_environment_is_separated_by_commas(
    file: Path, variable: str, text: str, values: tuple[str, ...]
) -> None:
    group, name = variable.removeprefix("MANUS_").lower().split("_")
    settings = load_settings({variable: text}, file)
    assert getattr(getattr(settings, group), name) == values


def test_an_unreadable_file_or_unknown_setting_is_named(file: Path) -> None:
    file.write_text("max_step = 3\n")
    message = _refusal({}, file)
    assert message.startswith(f"{file} sets `max_step`, which is not a setting; did you mean")
    assert "`max_steps`?" in message
    file.write_text("[roles.plan]\nxyzzy = 3\n")
    message = _refusal({}, file)
    assert "`roles.plan.xyzzy`, which" in message
    assert "max_steps" not in message
    file.write_text("model = \n")
    assert _refusal({}, file).startswith(f"{file} is not valid TOML: Invalid value (at line 1")
    file.write_bytes(b'model = "\xff"\n')
    assert _refusal({}, file).startswith(f"{file} is not valid TOML: ")
    assert _refusal({}, file.parent) == f"Cannot read {file.parent}: Is a directory."


def test_a_key_goes_to_its_own_provider_only() -> None:
    main = ModelSettings(model="openai:a", base_url="http://x/v1", api_key=SecretStr("k"))
    assert main.at("b", None).api_key == SecretStr("k")
    assert main.at("b", None).base_url == "http://x/v1"
    elsewhere = main.at("anthropic:c", None)
    assert (elsewhere.api_key, elsewhere.base_url) == (None, None)
    assert main.at("anthropic:c", "http://y").base_url == "http://y"
    assert main.at(None, "http://x/v1").api_key == SecretStr("k")
    assert main.at(None, "http://evil/v1").api_key is None
