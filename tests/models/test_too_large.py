"""Refusals in the words of servers, as users have reported them: too large, no credit, others."""

import json
from typing import Any

import httpx2
import pytest
from openai import APIStatusError

from manus.config.model_settings import ModelSettings
from manus.models.errors import explain, find_lower_limit
from manus.state.errors import (
    ContextOverflowError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)

HERE = ModelSettings(model="m", base_url="http://there/v1")


def refusal(status: int, body: Any) -> APIStatusError:
    """Return the client's exception for a response."""
    request = httpx2.Request("POST", "http://there/v1/chat/completions")
    response = httpx2.Response(status, request=request, json=body)
    if isinstance(body, dict):
        body = body.get("error", body)
    return APIStatusError(
        f"Error code: {status} - {json.dumps(body)}", response=response, body=body
    )


def in_words(status: int, message: str, code: str | None = None) -> APIStatusError:
    return refusal(status, {"error": {"message": message, "code": code}})


TOO_LARGE = [
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 8227 "
    "tokens. Please reduce the length of the messages.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 "
    "tokens. Please reduce the length of the messages.",
    "Invalid 'messages[1].content': string too long. Expected a string with maximum length "
    "10485760, but got a string with length 12000000 instead.",
    "prompt is too long: 213462 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 199059 + 20000 > 200000, decrease input "
    "length or `max_tokens` and try again",
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
    "Unable to submit request because the input token count is 33000 but model only supports up "
    "to 32768. Reduce the input token count and try again.",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Please reduce the length of the messages or completion.",
    "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 "
    "tokens (130000 of text input, 10000 of tool input). Please reduce the length of either one, "
    'or use the "middle-out" transform to compress your prompt automatically.',
    "the request exceeds the available context size. try increasing the context size or enable "
    "context shift",
    "request (131168 tokens) exceeds the available context size (131072 tokens), try increasing it",
    "Requested tokens (2285) exceed context window of 2048",
    "The number of tokens to keep from the initial prompt is greater than the context length. Try "
    "to load the model with a larger context length, or provide a shorter input",
    "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded "
    "with context length of only 4096 tokens, which is not enough.",
    "Cannot truncate prompt with n_keep (5) >= n_ctx (4)",
    "Prompt contains 33000 tokens and 0 draft tokens, too large for model with 32768 maximum "
    "context length",
    "too many tokens: total number of tokens in the prompt cannot exceed 128000 - received 140000. "
    "Try using a shorter prompt, or enabling prompt truncating.",
    "Input is too long for requested model.",
    "The model returned the following errors: Input Tokens Exceeded: Number of input tokens "
    "exceeds maximum length.",
    "invalid params, context window exceeds limit (2013)",
    "Your request exceeded model token limit: 8192",
    "Invalid request: Your request exceeded model token limit: 131072 (requested: 150000)",
    "InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
    "Prompt 超长",
    "prompt token count of 140000 exceeds the limit of 128000",
    "Request body too large for gpt-4o model. Max size: 8000 tokens.",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 "
    "`inputs` tokens and 512 `max_new_tokens`",
    "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
    "the input length exceeds the context length",
    "The decoder prompt (length 40000) is longer than the maximum model length of 32768. Make sure "
    "that `max_model_len` is no smaller than the number of text tokens.",
    "Requested token count exceeds the model's maximum context length of 32768 tokens. You "
    "requested a total of 40000 tokens.",
    "Input length (265330 tokens) exceeds the maximum allowed length (262144 tokens). Use a "
    "shorter input or enable --allow-auto-truncate.",
    "The prompt is too long: 140000, model maximum context length: 131071",
    "Please reduce the length of the messages or completion. Current length is 70000 while limit "
    "is 65536",
    "Prompt length exceeds maximum input length. Detail: Got 5000 tokens but maximum 4096",
    "Total tokens of image and text exceed max message tokens.",
    "length of prompt_tokens (33000) must be less than max_seq_len (32768).",
    "AiError: This model's context window limit is exceeded: estimated number of input and maximum "
    "output tokens (9000) exceeded this model context window limit (8192).",
    "the number of input tokens 5000 cannot exceed the total tokens limit 4096 for this model",
    "token总数超过上限",
    "The provided prompt is 9000 tokens long, but the maximum supported sequence length is 8192.",
    "Prompt tokens (9000) exceeds context size (8192)",
    # found after the expressions were written, to try them
    "Context Window exceeded for given call. No models have context window large enough.",
    "tokens in request more than max tokens allowed",
    "This model's maximum context length is 262144 tokens. However, you requested 0 output tokens "
    "and your prompt contains at least 262145 input tokens.",
    "Context size has been exceeded.",
    "Prompt tokens limit exceeded: 40000 > 32768",
    "Input is longer than allowed: 33512 tokens, limit 32000.",
    "the max input characters is 20000",
    "messages 参数非法。输入文本过长",
    "The text length exceeds the limit",
    "maximum number of prompt tokens is 8192, got 9001",
    "Prompt has 49231 tokens, but the configured context size is 49152 tokens",
    "The prompt is too long: 267657, model maximum context length: 262143",
    "Trying to keep the first 5000 tokens when context overflows. However, the model is loaded "
    "with context length of only 4096 tokens",
    "Range of input length should be [1, 98304]",
]
TOO_LARGE_BY_CODE = [
    refusal(400, {"error": {"message": "Too long.", "code": "context_length_exceeded"}}),
    refusal(400, {"error": {"message": "Sorry.", "type": "exceed_context_size_error"}}),
    refusal(500, {"error": {"message": "Sorry.", "type": "context_exceeded"}}),
    refusal(413, {"error": {"message": "Sorry."}}),
    refusal(400, {"error": {"message": "Sorry.", "code": "model_max_prompt_tokens_exceeded"}}),
]
OTHER_LIMITS = [
    "Invalid 'tools[0].function.description': string too long. Expected a string with maximum "
    "length 1024, but got a string with length 1068 instead.",
    "Invalid 'messages[3].tool_calls[0].id': string too long. Expected a string with maximum "
    "length 40, but got a string with length 41 instead.",
    "Invalid 'tools': array too long. Expected an array with maximum length 128, but got 130.",
    "messages.1.content.0: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
    "At least one of the image dimensions exceed max allowed size: 8000 pixels",
    "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead.",
    "Extra inputs are not permitted",
    "temperature: range: 0..1",
    "messages: roles must alternate between user and assistant",
    "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
    "Function name must match ^[a-zA-Z0-9_-]{1,64}$",
    "After the optional system message, conversation roles must alternate user/assistant",
]
NO_CREDIT = [
    (402, "Insufficient Balance", None),
    (402, "This request requires more credits, or fewer max_tokens.", None),
    (403, "Access denied, please make sure your account is in good standing.", "Arrearage"),
    (403, "Your team has used all available credits or reached its monthly spending limit.", None),
    (403, "用户额度不足, 剩余额度: 0", "insufficient_user_quota"),
    (429, "You exceeded your current quota, please check your plan and billing details.", None),
    (429, "Sorry.", "insufficient_quota"),
    (429, "Your account is not active: insufficient balance, please recharge your account.", None),
    (429, "余额不足或无可用资源包,请充值。", "1113"),
    (500, "insufficient balance (1008)", None),
    (401, "Insufficient balance. Manage your billing here.", None),
    (403, "The free tier of the model has been exhausted.", "AllocationQuota.FreeTierOnly"),
    (400, "Your credit balance is too low to access the API. Go to Plans & Billing.", None),
]
WAIT = [
    (429, "Rate limit reached for gpt-4o on tokens per min (TPM). Please try again in 20s. You can "
    "increase your rate limit by adding a payment method to your account at /billing.", None),
    (429, "Requests rate limit exceeded, please try again later.", "rate_limit_exceeded"),
    (429, "Too Many Requests", None),
    (429, "You have exhausted your capacity on this model. It will reset after 3h20m.", None),
    (429, "Free tier requests exhausted, limit: 20. Please retry in 38s.", None),
    (529, "Overloaded", None),
    (500, "Internal server error", None),
]  # fmt: skip


def test_what_a_refusal_means(subtests: pytest.Subtests) -> None:
    rows: list[tuple[APIStatusError, type[ModelError], str]] = [
        *((in_words(400, message), ContextOverflowError, "window of `m`") for message in TOO_LARGE),
        *((in_words(500, message), ContextOverflowError, "window of `m`") for message in TOO_LARGE),
        *((error, ContextOverflowError, "window of `m`") for error in TOO_LARGE_BY_CODE),
        *((in_words(400, message), ModelRefusedError, "(400): ") for message in OTHER_LIMITS),
        *((in_words(*case), ModelRefusedError, "no credit left") for case in NO_CREDIT),
        *((in_words(*case), ModelUnavailableError, f"({case[0]}): ") for case in WAIT),
    ]
    for error, kind, words in rows:
        with subtests.test(error=str(error)):
            failure = explain(error, HERE)
            assert type(failure) is kind
            assert words in str(failure)
            assert "\n" not in str(failure)


LOWER = [
    ("input length and `max_tokens` exceed context limit: 188059 + 20000 > 200000", 20_000, 11941),
    (
        "This model's maximum context length is 131072 tokens. However, you requested 133034 "
        "tokens (125034 in the messages, 8000 in the completion). Please reduce the length.",
        8_000,
        6_038,
    ),
    (
        "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context "
        "length is 32768 tokens and your request has 5000 input tokens (32000 > 32768 - 5000).",
        32_000,
        27_768,
    ),
    (
        "max_tokens is too large: 200000. This model supports at most 16384 completion tokens, "
        "whereas you provided 200000.",
        200_000,
        16_384,
    ),
    ("`max_tokens` must be less than or equal to `8192`, the maximum value", 9_000, 8_192),
    ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 9_000, 8_192),
    (
        "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for "
        "claude-sonnet-4-20250514",
        100_000,
        64_000,
    ),
    (
        "`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 7000 `inputs` tokens and 4096 "
        "`max_new_tokens`",
        4_096,
        1_193,
    ),
    ("The maximum tokens you requested exceeds the model limit of 4096.", 8_000, 4_096),
    # a gateway has lowered what was sent, and the server repeats the lower number
    (
        "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context "
        "length is 8192 tokens and your request has 5000 input tokens (4096 > 8192 - 5000).",
        8_000,
        3_192,
    ),
    (
        "This model's maximum context length is 16384 tokens. However, you requested 17384 tokens "
        "(10384 in the messages, 7000 in the completion). Please reduce the length.",
        8_000,
        6_000,
    ),
    ("max_tokens (6000) must be at most 4096", 8_000, None),
    ("input length and `max_tokens` exceed context limit: 9000 + 6000 > 14000", 8_000, None),
    # counted up to the end of the window only: the rest would be one token too large each time
    (
        "This model's maximum context length is 32768 tokens. However, you requested 4096 output "
        "tokens and your prompt contains at least 28673 input tokens, for a total of at least "
        "32769 tokens. Please reduce the length of the input prompt or the number of requested "
        "output tokens.",
        4_096,
        None,
    ),
    ("prompt is too long: 213462 tokens > 200000 maximum", 8_000, None),
    ("Unsupported parameter: 'max_tokens' is not supported with this model.", 8_000, None),
]


def test_the_largest_reply_that_a_refusal_allows(subtests: pytest.Subtests) -> None:
    for message, max_tokens, expected in LOWER:
        with subtests.test(message=message):
            assert find_lower_limit(message, max_tokens) == expected
