"""Detect replies that announce work instead of doing it ("I will now …", "Let me …:").

Only the end of a reply is judged, and conservatively: a false positive costs a model call, a false
negative ends the run before its work is done. Offers, conditions, questions, quotations, code and
lists count as answers.
"""

from __future__ import annotations

import re
from itertools import takewhile

from langchain_core.messages import AIMessage

from manus.nodes.active_run import ActiveRun
from manus.state.agent import AgentState, Loop, Run
from manus.state.messages import get_text, has_calls
from manus.state.plan import TO_DO

_MAX_SENTENCE = 400
"""Characters of the longest sentence that can be an announcement."""
_FENCE = re.compile(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_CODE = "[code]"
_QUOTATION = "(quoted)"
"""Placeholders for code and quotations while the end of a reply is judged."""
_QUOTED = re.compile(r"[“„«「『][^”“»」』\n]*[”“»」』]|\"[^\"\n]*\"")
_NO_PROSE = re.compile(r"\s*(?:[-*+•>|]\s|\d+[.)]\s)|(?: {4}|\t)")
"""Matches a line of a list, a quotation, a table or a block of code."""
_MARKUP = re.compile(r"[*_#`~]+")
_SENTENCE_END = re.compile(r"(?<=[.!…])\s+|(?<=[。！])\s*")
_QUESTION = ("?", "？", "؟")
_COLON = (":", "：")
_CONDITION = re.compile(
    r"\b(?:if|once|when(?:ever)?|after|unless|until|before|as soon as)\s+you\b"
    r"|\b(?:let me know|tell me|please|would you|do you|your (?:password|answer|approval))\b"
    r"|如果|若|一旦|请(?:您)?(?:告诉|提供|告知)|请问|當您|需要您"
    r"|れば|たら|場合|ください"
    r"|다면|하시면|으면|주세요"
    r"|\b(?:wenn|falls|sobald|bitte|si|dès que|quand|cuando|por favor|se|quando|caso|если|когда)\b",
    re.IGNORECASE,
)
"""Matches words that make a sentence an offer or a condition."""
_NOT = re.compile(r"\b(?:not|never|no longer|nicht|kein\w*|ne|pas|no|não|non|не)\b|不|没", re.I)

_VERBS = (
    "add analy[sz]e apply begin browse build calculate call change check clean click clone collect "
    "compare compile compute confirm continue convert copy correct count create debug delete "
    "design determine do download draft draw edit examine execute explore extract fetch figure "
    "fill find finish fix format gather generate get go grep identify implement improve inspect "
    "install investigate launch list load locate look make measure merge modify move navigate open "
    "organi[sz]e parse perform plan prepare proceed produce profile pull query read rebuild redo "
    "refactor reload remove rename reorgani[sz]e replace replicate reproduce rerun research "
    "retrieve retry review rewrite run save scan scroll search see set setup sort start study "
    "submit summari[sz]e take test trace translate try type understand update upgrade use validate "
    "verify view visit visuali[sz]e work write"
).replace(" ", "|")
_OPENING = (
    r"(?:(?:ok(?:ay)?|sure|great|good|right|alright|perfect|thanks|so|and|but|then|now|next|first|"
    r"second|finally|(?:the )?next step|step \d+|therefore|instead|to start(?: with)?|"
    r"(?:in order )?to [^,.;:]{2,80})\s*[,:!.–—-]?\s+)*"
)
_ADVERBS = (
    r"(?:(?:now|first|next|then|also|just|quickly|carefully|again|immediately|start by|"
    r"begin by|go ahead and|proceed to|try to)\s+)*"
)
_ENGLISH = re.compile(
    rf"^{_OPENING}(?:"
    rf"(?:i|we)(?:'ll| will)|i(?: shall| am going to|'m going to| am about to|'m about to)|"
    rf"let(?: me|'s| us))\s+{_ADVERBS}(?:{_VERBS}|reading|looking|running)\b(?! you\b)"
    r"|^(?:first|next|now|then)\s*,?\s+i (?:need to|have to|should|must|want to)\b"
    r"|\b(?:i'll|i will|i'm|i am|let me) (?:now|next|first|then|start by|begin by)\b"
    r"|\b(?:now|next),? (?:i'll|i will|let me)\b",
    re.IGNORECASE,
)
_OTHER_LANGUAGES = (
    # Chinese, simplified and traditional
    r"(?:我|我们|我們)?(?:现在|現在|接下来|接下來|下面|马上|馬上|首先|然后|然後|下一步)[，,]?"
    r"(?:我|我们|我們)?(?:先|再|就)?(?:将|將|会|會|要|来|來|去|开始|開始|需要)?"
    r"(?:先|再)?(?:查看|看|检查|檢查|修改|运行|運行|执行|執行|创建|創建|建立|编写|編寫|写|寫|读取|讀取|读|讀|"
    r"打开|打開|搜索|查找|分析|测试|測試|安装|安裝|更新|修复|修復|添加|删除|刪除|继续|繼續|尝试|嘗試|生成|确认|確認|了解)",
    r"(?:^|[，,。！\s])(?:让我|讓我|我来|我來|我先|我会先|我將|我将|我要)(?:们|們)?(?:先|来|來|再|现在|現在|开始|開始)?"
    r"(?:查看|看|检查|檢查|修改|运行|運行|执行|執行|创建|創建|建立|编写|編寫|写|寫|读取|讀取|读|讀|打开|打開|"
    r"搜索|查找|分析|测试|測試|安装|安裝|更新|修复|修復|添加|删除|刪除|继续|繼續|尝试|嘗試|生成|确认|確認|了解)",
    # Japanese: a plain future ends in -ます; the past ends in -ました
    r"^(?:では|それでは|はい)?[、,]?(?:これから|まず(?:は)?|次に|続いて|今から|最初に|では)[、,]?.{1,80}"
    r"(?:確認|調査|実行|作成|修正|検索|追加|変更|更新|テスト|インストール|分析)(?:を|して)?(?:行い|いたし|し|み)ます"
    r"|^(?:これから|まず(?:は)?|次に|今から|最初に|では)[、,]?.{1,80}(?:調べ|読み|見|見てみ|開き|書き|進め|始め)ます",
    # Korean
    r"^(?:네[,.]?\s*)?(?:이제|먼저|우선|다음으로|지금|그럼|이어서)\s?.{1,80}"
    r"(?:겠습니다|할게요|볼게요)$",
    # German
    r"\bich werde (?:jetzt|nun|zuerst|zunächst|als nächstes|gleich|mir)\b"
    r"|^(?:jetzt|nun|zuerst|zunächst|als nächstes)\b,? ?(?:\w+ ich|\w+e ich)\b"
    r"|^ich (?:schaue|sehe|prüfe|lese|öffne|suche|führe|erstelle|schreibe|ändere|starte|beginne)\b"
    r".*\b(?:jetzt|nun|zuerst|zunächst)\b|\blass(?:en sie)? mich\b",
    # French
    r"\bje vais (?:maintenant |d'abord |ensuite |commencer |)?\w+(?:er|ir|re|oir)\b"
    r"|\b(?:laissez|laisse)-moi\b",
    # Spanish
    r"\b(?:ahora|primero|luego|a continuación),? voy a \w+r\b|^voy a \w+r\b"
    r"|\b(?:déjame|déjeme|permíteme|permítame) \w+r\b",
    # Portuguese
    r"\b(?:agora|primeiro|em seguida|depois),? (?:eu )?vou \w+r\b|^vou (?:agora )?\w+r\b"
    r"|\bdeixe-me \w+r\b",
    # Italian
    r"^(?:ora|adesso|prima|poi)\b,? (?:io )?(?:vado a |procedo a |proverò a )?"
    r"(?:leggo|controllo|verifico|apro|cerco|eseguo|creo|scrivo|modifico|correggo|guardo|esamino|"
    r"\w+(?:are|ere|ire))\b|\b(?:lascia|fammi|lasciami) \w+(?:are|ere|ire)\b",
    # Russian
    r"\b(?:сейчас|теперь|сначала|далее|затем),? я \w+(?:ю|у|ю)\b|^я (?:сейчас|сначала) \w+[юу]\b"
    r"|^давайте \w+м\b",
)
_OTHER_LANGUAGE = re.compile(
    "|".join(f"(?:{pattern})" for pattern in _OTHER_LANGUAGES), re.IGNORECASE
)


def announces_work(text: str) -> bool:
    """Return whether a reply ends with an announcement of the next action."""
    lines = [line for line in _FENCE.sub(_CODE, text).splitlines() if line.strip()]
    if not lines or lines[-1] == _CODE or _NO_PROSE.match(lines[-1]):
        return False
    plain = _MARKUP.sub("", _QUOTED.sub(_QUOTATION, lines[-1])).replace("’", "'")
    sentences = [part.strip() for part in _SENTENCE_END.split(plain) if part.strip()]
    if not sentences or len(sentences[-1]) > _MAX_SENTENCE:
        return False
    return _is_announcement(sentences[-1])


def _is_announcement(sentence: str) -> bool:
    if sentence.endswith(_QUESTION) or _CONDITION.search(sentence):
        return False
    if sentence.endswith(_COLON):
        return len(sentence) > 2  # the announced text is missing
    if _NOT.search(sentence):
        return False
    bare = sentence.rstrip(".… ")
    return bool(_ENGLISH.search(bare) or _OTHER_LANGUAGE.search(bare))


def is_sent_back(
    state: AgentState, active_run: ActiveRun, message: AIMessage | None, *, is_last: bool
) -> bool:
    """Return whether a reply without a call is sent back, asking to continue or to terminate.

    Once per run, if calls could follow: for a reply that announces work, one right after a loop
    hint, and one that leaves the agent's own plan unfinished. Never in a conversation, where the
    user can reply.
    """
    run = state["run"]
    settings = active_run.settings
    if message is None or has_calls(message) or not get_text(message).strip():
        return False
    cannot_continue = is_last or "closing" in run or active_run.ledger.over is not None
    if cannot_continue or settings.tool_choice != "auto" or settings.text_reply != "finish":
        return False
    if "sent_back" in run or not active_run.catalog.schemas():
        return False
    if _is_conversation(state, active_run):
        return False
    is_hinted = was_hinted(state.get("loop"), run)
    return is_hinted or _has_open_plan(state) or announces_work(get_text(message))


def was_hinted(loop: Loop | None, run: Run) -> bool:
    """Return whether this step has the hint about a loop."""
    return loop is not None and loop["measure"] == "hint" and loop["since"] == run["step"] - 1


def _is_conversation(state: AgentState, active_run: ActiveRun) -> bool:
    """Return whether a person can reply, as the caller declares or an earlier answer shows.

    A run that ended with `terminate` was a task, not a part of a conversation. A nested run has its
    own namespace, and nobody who could reply.
    """
    if active_run.is_inside:
        return False
    if active_run.settings.conversation:
        return True
    earlier = takewhile(lambda m: m.id != state["run"]["request_id"], state["messages"])
    replies = [message for message in earlier if isinstance(message, AIMessage)]
    return bool(replies) and not has_calls(replies[-1])


def _has_open_plan(state: AgentState) -> bool:
    plan = state.get("plans", {}).get(state.get("active_plan") or "")
    return plan is not None and any(step["status"] in TO_DO for step in plan["steps"])
