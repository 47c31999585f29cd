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
    if (reply?.ok) return true;
    const said = await reply?.json().catch(() => null);
    told.textContent = said?.detail ?? (reply ? `The server failed (${reply.status}).` : AWAY);
    return false;
  };
  document.addEventListener("server", ({ detail }) => {
    if (detail === "away") told.textContent = AWAY;
    else if (told.textContent === AWAY) told.textContent = "";
  });

  // what is typed outlives a reload and a restart of the server
  const draftOf = (field) => `draft ${location.pathname} ${field.form?.dataset.id ?? ""}`;
  const keep = (field) => {
    if (field.value) localStorage.setItem(draftOf(field), field.value);
    else localStorage.removeItem(draftOf(field));
  };
  const restore = () => {
    for (const field of document.querySelectorAll(".ask textarea, #words")) {
      if (!field.value) field.value = localStorage.getItem(draftOf(field)) ?? "";
    }
  };
  addEventListener("input", (event) => { if (event.target.matches("textarea")) keep(event.target); });

  // what can be done depends on where the thread stands
  const show = () => {
    const state = byId("asks").dataset.state;
    byId("stop").hidden = !["running", "waiting"].includes(state);
    byId("resume").hidden = state !== "early";
    byId("plans").hidden = state !== "new";
    const isAtWork = ["running", "elsewhere"].includes(state);
    byId("queue").hidden = !isAtWork;
    byId("send").textContent = isAtWork ? "Send now" : "Send";
    words.placeholder = isAtWork ? "Message to the agent at work" : "Message";
  };

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
    if (button?.value) answer(button.form, button.value);
    if (button?.classList.contains("withdraw")) post("withdraw", { text: button.dataset.id });
    if (button?.dataset.draft) {
      const field = button.form.querySelector("textarea");
      field.value = button.dataset.draft;
      keep(field);
      field.focus();
    }
  });
  byId("from").querySelector("button").addEventListener("click", () => goBack(null));

  const answer = async (form, said) => {
    const field = form.querySelector("textarea");
    const more = field.value.trim();
    const text = said === "no" && more ? `no: ${more}` : said || more;
    if (!text || !await post("answer", { answers: { [form.dataset.id]: text } })) return;
    field.value = "";
    keep(field);
  };
  byId("main").addEventListener("submit", (event) => {
    event.preventDefault();
    answer(event.target, "");
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
    if (!event.target.matches("textarea")) return;
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (event.altKey && event.target === words && !byId("queue").hidden) send(true);
      else event.target.form.requestSubmit();
    }
  });
  words.addEventListener("paste", (event) => attach(event.clipboardData.files));
  // the field is free for the next message at once; what could not be sent comes back into it
  let sent = Promise.resolve();
  const send = async (queue) => {
    const text = words.value.trim();
    const files = attached;
    if (!text && !files.length) return;
    const flow = byId("plans").querySelector("input").checked;
    const message = { text, flow, queue, files, at };
    goBack(null);
    words.value = "";
    keep(words);
    attached = [];
    list();
    const answer = sent.then(() => post("send", message));
    sent = answer;
    if (await answer) {
      scrollTo({ top: document.body.scrollHeight });
    } else {
      startAt(message.at);
      words.value = [text, words.value].filter(Boolean).join("\n");
      keep(words);
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
  byId("resume").addEventListener("click", () => post("resume"));
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
  const doing = { says: "", thinks: "thinks", call: "calls", work: "runs", problem: "tries again" };
  new EventSource("live").addEventListener("message", (event) => {
    const piece = JSON.parse(event.data);
    if (piece.kind === "done") {
      isStale = true;
      if (browses) screen.src = `screen?${Date.now()}`;
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
  });
  document.addEventListener("patched", () => {
    show();
    restore();
    if (byId("stop").hidden) [browses, screen.hidden] = [false, true];
    if (isStale && !browses) now.hidden = true;
  });
  show();
  restore();
  scrollTo({ top: document.body.scrollHeight });
})();
