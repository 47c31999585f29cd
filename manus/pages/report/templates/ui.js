"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const words = byId("words");
  const told = byId("told");
  const AWAY = "The server has stopped. Start `manus ui` again: this page reconnects and keeps what you typed.";
  let attached = [];
  let at = null;

  const post = async (action, given = {}) => {
    told.textContent = "";
    const reply = await fetch(action, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(given),
    }).catch(() => null);
    if (reply?.ok) {
      // a run starts before the page of a long thread is made, which would delay it
      if (action === "send" && byId("queue").hidden) {
        await new Promise((done) => { document.addEventListener("event", done, { once: true }); setTimeout(done, 3000); });
      }
      await new Promise((done) => document.dispatchEvent(new CustomEvent("refresh", { detail: done })));
      return true;
    }
    const said = await reply?.json().catch(() => null);
    told.textContent = said?.detail ?? (reply ? `The server failed (${reply.status}).` : AWAY);
    return false;
  };
  document.addEventListener("server", ({ detail }) => {
    if (detail === "away") told.textContent = AWAY;
    else if (told.textContent === AWAY) told.textContent = "";
  });

  // what is typed outlives a reload and a restart of the server
  const draft = `draft ${location.pathname}`;
  const keep = () => {
    if (words.value) localStorage.setItem(draft, words.value);
    else localStorage.removeItem(draft);
  };
  words.addEventListener("input", keep);
  words.value = localStorage.getItem(draft) ?? "";

  // what can be done depends on where the thread stands
  const question = () => document.querySelector(".ask.open");
  const show = () => {
    const state = byId("asks").dataset.state;
    byId("stop").hidden = !["running", "waiting"].includes(state);
    byId("plans").hidden = state !== "new";
    const isAtWork = ["running", "elsewhere"].includes(state);
    byId("queue").hidden = !isAtWork;
    byId("send").textContent = isAtWork ? "Send now" : "Send";
    words.setAttribute("aria-label", question() ? "Your answer" : "Message");
    words.placeholder = isAtWork ? "Message to the agent at work" : !question() ? "Message"
      : question().querySelector("[value=no]") ? "A reason for No" : "Your answer";
    const sought = byId("find").value.toLowerCase();
    for (const one of byId("threads").children) one.hidden = !one.textContent.toLowerCase().includes(sought);
  };
  byId("find").addEventListener("input", () => show());
  // not on the list itself, which is replaced whenever it changes
  byId("outline").addEventListener("click", ({ target }) => {
    const link = target.closest("li")?.querySelector("a");
    if (target.matches(".rename")) {
      const title = prompt("Title of the thread", link.firstChild.textContent);
      if (title) post(new URL("rename", link.href), { text: title });
    }
    if (!target.matches(".delete") || !confirm(`${target.ariaLabel}? The files in its folder stay.`)) return;
    post(new URL("delete", link.href)).then((ok) => { if (ok && link.ariaCurrent) location = "../../"; });
  });

  const startAt = (checkpoint) => {
    at = checkpoint;
    byId("from").hidden = !at;
  };
  const goBack = (step) => {
    startAt(step?.dataset.checkpoint ?? null);
    if (!at) return;
    byId("before").textContent = step.querySelector(".num").textContent;
    words.focus();
  };

  byId("main").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.classList.contains("fork")) goBack(button.closest("article"));
    if (button?.value) answer(button.closest(".ask"), button.value);
    if (button?.classList.contains("withdraw")) post("withdraw", { text: button.dataset.id });
    if (button?.classList.contains("resume")) post("resume");
  });
  byId("from").querySelector("button").addEventListener("click", () => goBack(null));

  const answer = async (ask, said) => {
    const typed = ask.dataset.id === "trust" ? "" : words.value.trim();
    const text = said === "no" && typed ? `no: ${typed}` : said || typed;
    if (!text) return;
    ask.inert = true;
    const ok = await post("answer", { answers: { [ask.dataset.id]: text } });
    ask.inert = false;
    if (!ok || !typed) return;
    words.value = "";
    keep();
  };
  byId("main").addEventListener("submit", (event) => {
    event.preventDefault();
    const [first, ...others] = event.target.querySelectorAll("textarea");
    try {
      const args = [first, ...others].map((one) => [one.name, "json" in one.dataset ? JSON.parse(one.value) : one.value]);
      const isPlan = first.name === "steps" && !others.length && first.closest(".ask").querySelector("[value=cancel]");
      answer(event.target.closest(".ask"), isPlan ? `edit\n${first.value}` : `edit ${JSON.stringify(Object.fromEntries(args))}`);
    } catch (error) {
      told.textContent = `This is not JSON: ${error.message}`;
    }
  });

  // saying something
  const read = (file) => new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done({ name: file.name, data: reader.result.split(",")[1] ?? "" });
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(file);
  });
  const attach = async (files) => {
    try {
      attached.push(...await Promise.all([...files].map(read)));
    } catch {
      told.textContent = "A file cannot be read.";
    }
    list();
  };
  const list = () => {
    byId("attached").replaceChildren(...attached.map((file) => {
      const drop = document.createElement("button");
      Object.assign(drop, { type: "button", title: "Remove", textContent: `${file.name} ×` });
      drop.addEventListener("click", () => { attached = attached.filter((one) => one !== file); list(); });
      return drop;
    }));
  };
  addEventListener("keydown", (event) => {
    if (event.target !== words) return;
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (event.altKey && !byId("queue").hidden) send(true);
      else event.target.form.requestSubmit();
    }
  });
  words.addEventListener("paste", (event) => attach(event.clipboardData.files));
  // the field is free for the next message at once; what could not be sent comes back into it
  let sent = Promise.resolve();
  const send = async (queue) => {
    const text = words.value.trim();
    const files = attached;
    if (question() && !at) return answer(question(), "");
    if (!text && !files.length) return;
    const flow = byId("plans").querySelector("input").checked;
    const options = Object.fromEntries([...byId("options").querySelectorAll("[name]")].map((one) => [one.name, one.value.trim()]));
    const message = { text, flow, queue, files, at, ...options };
    goBack(null);
    words.value = "";
    keep();
    const bubble = byId("sent");
    bubble.textContent = text || files.map((file) => file.name).join(", ");
    bubble.hidden = now.hidden = false;
    scrollTo({ top: document.body.scrollHeight });
    attached = [];
    list();
    const posted = sent.then(() => post("send", message));
    sent = posted;
    const ok = await posted;
    if (sent === posted) bubble.hidden = true;
    show();
    if (ok) {
      scrollTo({ top: document.body.scrollHeight });
    } else {
      startAt(message.at);
      words.value = [text, words.value].filter(Boolean).join("\n");
      keep();
      attached = [...files, ...attached];
      list();
    }
  };
  byId("say").addEventListener("submit", (event) => {
    event.preventDefault();
    send(false);
  });
  byId("queue").addEventListener("click", () => send(true));
  byId("stop").addEventListener("click", () => post("stop"));
  byId("files").addEventListener("change", (event) => { attach(event.target.files); event.target.value = ""; });
  byId("attach").addEventListener("click", () => byId("files").click());
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => { event.preventDefault(); attach(event.dataTransfer.files); });
  byId("list").addEventListener("click", () => {
    const open = document.body.classList.toggle("showing-threads");
    byId("list").setAttribute("aria-expanded", String(open));
    if (open) byId("outline").scrollIntoView();
  });

  // what happens now, until the page has it
  const now = byId("now");
  const text = byId("text");
  const screen = byId("screen");
  screen.addEventListener("load", () => { screen.hidden = false; });
  screen.addEventListener("error", () => { screen.hidden = true; });
  let of = "";
  let isStale = true;
  let browses = false;
  const doing = { says: "", thinks: "thinking …", plans: "planning …", call: "calls", work: "runs", problem: "tries again:" };
  new EventSource("live").addEventListener("message", (event) => {
    const piece = JSON.parse(event.data);
    document.dispatchEvent(new Event("event"));
    if (piece.kind === "done") {
      isStale = true;
      if (browses) screen.src = `screen?${Date.now()}`;
      document.dispatchEvent(new CustomEvent("refresh", { detail: () => {} }));
      return;
    }
    const isNew = isStale || piece.of !== of;
    if (isNew || piece.kind === "work") text.textContent = "";
    if (isNew || piece.name) byId("doing").textContent = `${doing[piece.kind]} ${piece.name ?? ""}`;
    browses ||= piece.kind === "work" && Boolean(piece.name?.startsWith("browser_use"));
    [isStale, of] = [false, piece.of];
    text.classList.toggle("printed", ["work", "call"].includes(piece.kind));
    text.append(piece.text);
    text.scrollTop = text.scrollHeight;
    now.hidden = false;
    if (innerHeight + scrollY > document.body.scrollHeight - 120) scrollTo({ top: document.body.scrollHeight });
  });
  document.addEventListener("patched", () => {
    show();
    const isRunning = byId("asks").dataset.state === "running";
    if (byId("stop").hidden) [browses, screen.hidden] = [false, true];
    if (isStale) [byId("doing").textContent, text.textContent] = [isRunning ? "working …" : "", ""];
    now.hidden = !isRunning && byId("sent").hidden && screen.hidden;
  });
  show();
  if (!location.hash) scrollTo({ top: document.body.scrollHeight });
})();
