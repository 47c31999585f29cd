"""Two instances of Aegra that serve the same threads: `make served` sets up the requirements."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import yaml

from benchmarks.served.cluster import start_cluster
from benchmarks.served.environment import find_missing, find_python
from benchmarks.served.instance import TOKEN, Instance
from benchmarks.served.scenarios import answered_elsewhere, cancelled, killed
from tests.threads.postgres_server import PostgresServer

MISSING = find_missing()
ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"missing on this machine: {'; '.join(MISSING)}"),
]
FIELDS = """
import json
from aegra_api.settings import settings
print(json.dumps([name for part in vars(settings).values() for name in type(part).model_fields]))
"""


@pytest.fixture
def python() -> Path:
    result = find_python()
    assert result is not None
    return result


async def test_runs_outlive_their_instance(python: Path, subtests: pytest.Subtests) -> None:
    """Nothing is executed or paid for twice; calls in doubt are reported."""
    async with start_cluster(python) as cluster:
        for scenario, most_doubts in ((killed, 1), (answered_elsewhere, 0), (cancelled, 1)):
            with subtests.test(scenario=scenario.__name__):
                result = await scenario(cluster, "agent")
                assert (result.succeeded, result.doubled, result.repeated) == (1, 0, 0)
                assert (result.unreported, result.in_doubt <= most_doubts) == (0, True)


@pytest.mark.parametrize("file", ["deploy/aegra.json", "langgraph.json"])
async def test_the_configuration_serves_the_same_graphs_to_those_who_have_the_token(
    python: Path, file: str
) -> None:
    config = {"AEGRA_CONFIG": str(ROOT / file)}
    async with start_cluster(python, config) as cluster, httpx.AsyncClient() as client:
        url = f"{cluster.instances[0].url}/assistants/search"
        token = {"Authorization": f"Bearer {TOKEN}"}
        assistants: Any = (await client.post(url, json={}, headers=token)).json()
        graphs = json.loads((ROOT / "langgraph.json").read_text())["graphs"]
        assert {assistant["graph_id"] for assistant in assistants} == set(graphs)
        own_url = cluster.instances[0].url
        thread = (await client.post(f"{own_url}/threads", json={}, headers=token)).json()
        has_messages = file == "langgraph.json"  # the other has no application beside the graphs
        for thread_id, status in ((thread["thread_id"], 201), ("unknown", 404)):
            path = f"{own_url}/manus/threads/{thread_id}/messages"
            sent = await client.post(path, json={"text": "Use tabs."}, headers=token)
            assert sent.status_code == (status if has_messages else 404), sent.text
        assert (await client.post(url, json={})).status_code == 401
        elsewhere = {**token, "Host": "example.org"}
        assert (await client.post(url, json={}, headers=elsewhere)).status_code == 403
        page = {**token, "Origin": "https://example.org"}
        assert (await client.post(url, json={}, headers=page)).status_code == 403


def test_aegra_reads_the_variables_of_the_compose_file(python: Path) -> None:
    process = subprocess.run([python, "-c", FIELDS], capture_output=True, text=True, check=True)
    compose = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())
    variables = compose["services"]["server-1"]["environment"]
    ours = {name for name in variables if name.startswith(("MANUS_", "XDG_"))}
    assert set(variables) - ours <= set(json.loads(process.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("no redis", "Redis cannot be used (Error 111 connecting to 127.0.0.1:1"),
        ("newer database", "The database was written by a newer version of Aegra (Can't locate"),
        ("no rights", "The tables cannot be created (permission denied for schema public); grant"),
    ],
)
def test_a_server_that_cannot_start_reports_the_reason(
    python: Path, tmp_path: Path, postgres: PostgresServer, fault: str, sentence: str
) -> None:
    url = postgres.new_database()
    if fault == "newer database":
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE alembic_version (version_num VARCHAR(32))")
            connection.execute("INSERT INTO alembic_version VALUES ('ffffffffffff')")
    if fault == "no rights":
        with psycopg.connect(url) as connection:
            connection.execute("CREATE ROLE weak LOGIN PASSWORD 'weak'")
        url = f"postgresql://weak:weak@127.0.0.1:{postgres.port}/{url.rpartition('/')[2]}"
    settings = {
        "AEGRA_CONFIG": str(ROOT / "deploy" / "aegra.json"),
        "DATABASE_URL": url,
        "REDIS_BROKER_ENABLED": "true",
        "REDIS_URL": "redis://127.0.0.1:1/0",
    }
    instance = Instance(python, tmp_path / "one", settings)
    instance.start()
    with pytest.raises(RuntimeError, match=re.escape(sentence)) as failure:
        instance.wait_until_ready()
    instance.kill()
    assert "Traceback" not in str(failure.value)
