// Serve a local model over OpenAI's protocol: node server.mjs MODEL_FILE [PORT]
//
// The model is pretrained, not tuned for chats: a prompt with an example and a grammar made from the
// tools' schemas make it write calls. A reply calls a tool until there are as many results as the
// model's name says (`gemma-2`: two), then it answers. Other parts of the name: `text` (calls as
// text), `think` (comments before the reply, then reasoning).
import http from "node:http";
import {getLlama, LlamaCompletion} from "node-llama-cpp";

const [modelPath, port = "0"] = process.argv.slice(2);
const llama = await getLlama({gpu: false, build: "never", logLevel: "error"});
const model = await llama.loadModel({modelPath});
const context = await model.createContext({contextSize: 2048, threads: 2});
const completion = new LlamaCompletion({contextSequence: context.getSequence()});
const sleep = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

function toGrammar(schema) {
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) return {oneOf: choices.map(toGrammar)};
    if (schema.enum) return {enum: schema.enum};
    if (schema.type === "array") return {type: "array", items: toGrammar(schema.items ?? {type: "string"})};
    if (schema.type !== "object") return {type: schema.type ?? "string"};
    const entries = Object.entries(schema.properties ?? {});
    return {type: "object", properties: Object.fromEntries(entries.map(([name, part]) => [name, toGrammar(part)]))};
}

function callGrammar(tools) {
    const calls = tools.map(({function: tool}) => ({
        type: "object",
        properties: {name: {const: tool.name}, arguments: toGrammar(tool.parameters ?? {type: "object"})}
    }));
    return llama.createGrammarForJsonSchema(calls.length > 1 ? {oneOf: calls} : calls[0]);
}

function toPrompt(messages, tools) {
    const lines = (tools ?? []).map(({function: tool}) => `Tool ${tool.name}: ${tool.description.slice(0, 120)}`);
    lines.push('User: Add 2 and 3.', 'Call: {"name": "add", "arguments": {"a": 2, "b": 3}}', "Result: 5", "Answer: The sum is 5.", "");
    for (const {role, content, tool_calls: calls} of messages) {
        const text = typeof content === "string" ? content.slice(0, 120) : "";
        if (role === "user" && text.includes("TASK")) lines.push(`User: ${text}`);
        if (role === "tool") lines.push(`Result: ${text}`);
        for (const call of calls ?? []) lines.push(`Call: ${JSON.stringify(call.function)}`);
    }
    return lines.join("\n");
}

async function reply(request, write, signal) {
    const {model: name, messages, tools, temperature = 0, max_tokens: maxTokens = 24} = request;
    const options = {temperature, signal, stopOnAbortSignal: true};
    const start = messages.findLastIndex(({role, content}) => role === "user" && content.includes("TASK"));
    const results = messages.slice(start).filter(({role}) => role === "tool").length;
    const prompt = toPrompt(messages.slice(Math.max(start, 0)), tools);
    if (name.includes("think")) {
        for (let second = 0; second < 4; second++) {
            write(": thinking\n\n");
            await sleep(1);
            if (signal.aborted) return "stop";
        }
        const text = await completion.generateCompletion(`${prompt}\nThought:`, {...options, maxTokens: 20});
        write({delta: {reasoning_content: text}});
    }
    const wanted = Number(name.match(/\d+$/)?.[0] ?? 0);
    if (!tools || results >= wanted) {
        const stops = {customStopTriggers: ["\n"]};
        const onTextChunk = (content) => write({delta: {content}});
        const {metadata} = await completion.generateCompletionWithMeta(`${prompt}\nAnswer:`, {...options, ...stops, maxTokens, onTextChunk});
        return metadata.stopReason === "maxTokens" ? "length" : "stop";
    }
    const grammar = await callGrammar(tools);
    const call = await completion.generateCompletion(`${prompt}\nCall: `, {...options, grammar, maxTokens: 80});
    if (name.includes("text")) {
        for (const piece of `<tool_call>\n${call}\n</tool_call>`.match(/[^]{1,5}/g)) write({delta: {content: piece}});
        return "stop";
    }
    let parsed;
    try {
        parsed = JSON.parse(call);
    } catch {
        parsed = {name: tools[0].function.name, arguments: call};
    }
    const raw = typeof parsed.arguments === "string" ? parsed.arguments : JSON.stringify(parsed.arguments);
    write({delta: {tool_calls: [{index: 0, id: `c${results}`, type: "function", function: {name: parsed.name, arguments: ""}}]}});
    for (const piece of raw.match(/[^]{1,8}/g) ?? []) write({delta: {tool_calls: [{index: 0, function: {arguments: piece}}]}});
    return "tool_calls";
}

let queue = Promise.resolve();
const server = http.createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
        if (request.method !== "POST") return response.writeHead(404).end("{}");
        const abort = new AbortController();
        response.on("close", () => abort.abort());
        const write = (part) => {
            if (typeof part === "string") return response.write(part);
            response.write(`data: ${JSON.stringify({choices: [{index: 0, finish_reason: null, ...part}]})}\n\n`);
        };
        queue = queue.then(async () => {
            response.writeHead(200, {"Content-Type": "text/event-stream"});
            const alive = setInterval(() => write(": alive\n\n"), 1000);
            try {
                const reason = await reply(JSON.parse(body), write, abort.signal);
                write({delta: {}, finish_reason: reason});
                response.end("data: [DONE]\n\n");
            } catch (error) {
                response.end(`event: error\ndata: ${JSON.stringify({code: "internal", message: String(error)})}\n\n`);
            } finally {
                clearInterval(alive);
            }
        });
    });
});
server.listen(Number(port), "127.0.0.1", () => console.log(server.address().port));
