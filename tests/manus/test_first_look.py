"""What is wrong with the model's server is told while the program loads, where it is certain."""

import http.server
import socket
import threading
from collections.abc import Iterator

import pytest

from manus.first_look import is_near, split_address
from tests.helpers.port import free_port
from tests.manus.paths import Paths
from tests.manus.program import Program
from tests.server import Reply, ScriptedServer, fail, hang, text

KEY = "sk-very-secret"


@pytest.mark.parametrize(
    "told",
    [
        fail(401),
        fail(401, code="unauthorized", message="Who?"),
        fail(403),
        fail(401, type="none", message=""),
    ],
    ids=["OpenAI's", "another's", "not this path", "wordless"],
)
def test_a_wrong_key(manus: Program, server: ScriptedServer, told: Reply) -> None:
    server.about_model = told
    server.strict = False  # the request that shows the key to the path of chat lacks its messages
    server.script(fail(401))
    result = manus("run", "Hello.", MANUS_API_KEY=KEY)
    assert (result.code, result.out) == (1, "")
    assert result.err == (
        f"manus: The model server at {server.base_url} refused the key (401); check MANUS_API_KEY "
        "or OPENAI_API_KEY.\n"
    )
    [look], [chat] = server.looks, server.requests
    assert look.headers["authorization"] == f"Bearer {KEY}"
    assert chat.body == {"model": "scripted"}
    assert manus("threads", "--json").json == []


def test_a_key_that_may_only_chat(manus: Program, server: ScriptedServer) -> None:
    server.about_model = fail(401)
    server.strict = False
    server.script(fail(400, message="There are no messages."), text("Hello to you."))
    result = manus("run", "Hello.", MANUS_API_KEY=KEY)
    assert (result.code, result.out) == (0, "Hello to you.\n")


def test_a_model_that_is_not_there(manus: Program, server: ScriptedServer) -> None:
    server.about_model = fail(404, code="model_not_found", message="There is no model `scripted`.")
    result = manus("run", "Hello.")
    assert (result.code, result.out) == (1, "")
    assert "does not know the model `scripted`" in result.err
    assert result.err.endswith("check MANUS_MODEL and MANUS_BASE_URL.\n")
    assert server.requests == []


@pytest.mark.parametrize(
    "told",
    [
        fail(404, code="not_found", message="No such path."),
        fail(500),
        fail(503),
        text("This is no model."),
    ],
    ids=["a path", "a fault", "a pause", "a reply"],
)
def test_what_is_not_certain_is_left_to_the_run(
    manus: Program, server: ScriptedServer, told: Reply
) -> None:
    server.about_model = told
    server.script(text("Hello to you."))
    result = manus("run", "Hello.")
    assert (result.code, result.out) == (0, "Hello to you.\n")
    assert len(server.looks) == len(server.requests) == 1


def test_a_server_that_has_no_such_path(bare: Program) -> None:
    """As where `/v1` is missing at the end of an address."""
    with Paths({}) as server:
        result = bare("run", "Hello.", MANUS_BASE_URL=server.address, MANUS_MODEL="some/model")
        assert server.asked == [
            "GET /models/some%2Fmodel",
            "GET /models",
            "POST /chat/completions",
        ]
    assert (result.code, result.out) == (1, "")
    assert f"The model server at {server.address} does not know the model" in result.err
    assert result.err.endswith("check MANUS_MODEL and MANUS_BASE_URL.\n")


def test_a_list_of_models_is_enough_to_let_the_run_begin(bare: Program) -> None:
    """vLLM has the list alone, and a name that it does not hold may be another's for one it has."""
    with Paths({"GET /models": 200, "POST /chat/completions": 400}) as server:
        result = bare("run", "Hello.", MANUS_BASE_URL=server.address, MANUS_MODEL="m")
        assert server.asked[:2] == ["GET /models/m", "GET /models"]
        assert server.bodies[0]["messages"]
    assert "refused the request (400)" in result.out


def test_a_server_that_says_nothing_of_its_models_does_not_hold_the_run(
    manus: Program, server: ScriptedServer
) -> None:
    server.about_model = hang()
    server.script(text("Hello to you."))
    assert manus("run", "Hello.").out == "Hello to you.\n"


def test_nobody_listens(bare: Program) -> None:
    address = f"http://127.0.0.1:{free_port()}/v1"
    result = bare("run", "Hello.", MANUS_BASE_URL=address, MANUS_MODEL="some-model")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"manus: The model server at {address} cannot be reached (")
    assert result.err.endswith("; check MANUS_BASE_URL and the network.\n")
    assert not bare.workspace.exists()


def test_no_such_host(bare: Program) -> None:
    address = "http://no.such.host.invalid/v1"
    result = bare("run", "Hello.", MANUS_BASE_URL=address, MANUS_MODEL="some-model")
    assert (result.code, result.out) == (1, "")
    assert f"The model server at {address} cannot be reached (" in result.err


@pytest.mark.parametrize(
    "address",
    [
        "localhost:8000/v1",
        "nonsense",
        "ftp://127.0.0.1/v1",
        "http://",
        "http://[::1/v1",
        "http://a:b",
    ],
)
def test_what_is_no_address(bare: Program, address: str) -> None:
    result = bare("run", "Hello.", MANUS_BASE_URL=address, MANUS_MODEL="some-model")
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        f"manus: The model server at {address} cannot be asked, since this is not an address; "
        "MANUS_BASE_URL must look like http://localhost:11434/v1.\n"
    )


def test_where_another_endpoint_can_stand_in_nothing_is_certain(
    manus: Program, server: ScriptedServer
) -> None:
    server.script(text("Hello to you."))
    (manus.home / "manus.toml").write_text(
        f'model = "main"\nbase_url = "http://127.0.0.1:{free_port()}/v1"\n'
        f'[[fallback]]\nmodel = "scripted"\nbase_url = "{server.base_url}"\n'
    )
    del manus.environment["MANUS_BASE_URL"], manus.environment["MANUS_MODEL"]
    result = manus("run", "Hello.")
    assert (result.code, result.out) == (0, "Hello to you.\n")


def test_an_address_with_a_password_is_the_clients(bare: Program, server: ScriptedServer) -> None:
    server.script(text("Hello to you."))
    address = server.base_url.replace("http://", "http://me:secret@")
    result = bare("run", "Hello.", MANUS_BASE_URL=address, MANUS_MODEL="scripted")
    assert (result.code, result.out) == (0, "Hello to you.\n")
    assert server.looks == []
    server.close()
    result = bare("run", "Hello.", MANUS_BASE_URL=address, MANUS_MODEL="scripted")
    assert f"The model server at {server.base_url} cannot be reached" in result.out
    assert "secret" not in result.out + result.err


def test_with_json_a_refusal_is_an_outcome(manus: Program, server: ScriptedServer) -> None:
    server.about_model = fail(401)
    server.script(fail(401))
    result = manus("run", "--json", "Hello.", MANUS_API_KEY=KEY)
    assert (result.code, result.json["stop_reason"]) == (1, "error")
    assert "refused the key" in result.json["output"]
    assert server.looks == []


def test_a_key_with_another_model_of_the_command_line(
    manus: Program, server: ScriptedServer
) -> None:
    server.models = ["an/other:model"]
    server.script(text("Hello to you."))
    result = manus("run", "--model", "an/other:model", "Hello.")
    assert (result.code, result.out) == (0, "Hello to you.\n")
    assert len(server.looks) == 1


@pytest.fixture
def proxy(server: ScriptedServer) -> Iterator[str]:
    """A proxy that knows the one way to the scripted server, whatever host it is asked for."""

    class Forward(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with socket.create_connection(("127.0.0.1", server.port)) as there:
                path = self.path.partition("://")[2].partition("/")[2]
                fields = {**self.headers, "Connection": "close"}
                head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
                there.sendall(f"POST /{path} HTTP/1.1\r\n{head}\r\n".encode() + body)
                while piece := there.recv(65536):
                    self.wfile.write(piece)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Forward) as listener:
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listener.server_address[1]}"
        listener.shutdown()


def test_behind_a_proxy_the_run_itself_finds_out(
    bare: Program, server: ScriptedServer, proxy: str
) -> None:
    """Names behind a proxy need not be known here."""
    server.script(text("Hello to you."))
    result = bare(
        "run",
        "Hello.",
        HTTP_PROXY=proxy,
        http_proxy=proxy,
        NO_PROXY="",
        MANUS_BASE_URL="http://model.internal.invalid/v1",
        MANUS_MODEL="scripted",
    )
    assert (result.code, result.out) == (0, "Hello to you.\n")
    assert server.looks == []


def test_a_server_far_away_is_not_waited_for() -> None:
    assert is_near(split_address("http://127.0.0.1:1/v1"))
    assert is_near(split_address("http://[fd00::1]/v1"))
    assert not is_near(split_address("https://8.8.8.8/v1"))
    assert not is_near(split_address("https://[2001:4860:4860::8888]/v1"))
