"""A scripted OpenAI-compatible chat server on loopback, used with the real client.

    server.script(call("bash", command="ls"), text("two files"))
    ...  # run the agent with base_url=server.base_url, api_key="x"
    assert server.requests[1].last["content"] == "a.txt"

The fixtures `server` and `new_server` (`tests.helpers.fixtures`) fail the test at its end if a
request was unexpected, if the real API would have rejected one, or if replies were left unused.
"""

from tests.server.replies import ABSENT as ABSENT
from tests.server.replies import Call as Call
from tests.server.replies import Cut as Cut
from tests.server.replies import Message as Message
from tests.server.replies import Raw as Raw
from tests.server.replies import build_chunk as build_chunk
from tests.server.replies import call as call
from tests.server.replies import calls as calls
from tests.server.replies import cut as cut
from tests.server.replies import fail as fail
from tests.server.replies import hang as hang
from tests.server.replies import raw as raw
from tests.server.replies import reply_message as reply_message
from tests.server.replies import reply_stream as reply_stream
from tests.server.replies import text as text
from tests.server.replies import tokens as tokens
from tests.server.request import Request as Request
from tests.server.request import mentions as mentions
from tests.server.server import Queue as Queue
from tests.server.server import Scripted as Scripted
from tests.server.server import ScriptedServer as ScriptedServer
