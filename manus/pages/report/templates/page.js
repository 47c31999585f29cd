"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const folds = (from = document) => [...from.querySelectorAll("details")];

  const unfold = byId("unfold");
  unfold.hidden = false;
  unfold.addEventListener("click", () => {
    const open = unfold.textContent === "Unfold";
    for (const one of folds()) if (one.closest(".step, .files")) one.open = open;
    unfold.textContent = open ? "Fold" : "Unfold";
  });
  const showCopyButtons = () => {
    for (const one of document.querySelectorAll("button.copy[hidden]")) one.hidden = false;
  };
  document.addEventListener("click", async ({ target }) => {
    if (!target.matches?.("button.copy")) return;
    const code = target.closest(".code").querySelector("code").textContent;
    target.textContent = await navigator.clipboard.writeText(code).then(() => "Copied", () => "Not copied");
  });
  document.addEventListener("patched", showCopyButtons);
  showCopyButtons();
  addEventListener("beforeprint", () => { for (const one of folds()) one.open = true; });

  // a live page: what the server has now is put in place of what was there
  const sign = byId("live");
  if (!sign) return;
  const theme = byId("theme");
  theme.value = localStorage.getItem("theme") ?? "";
  const paint = () => { document.documentElement.dataset.theme = theme.value; };
  theme.addEventListener("change", () => { localStorage.setItem("theme", theme.value); paint(); });
  paint();
  const place = (one) => {
    const home = one.closest("[id]");
    return `${home.id} ${folds(home).indexOf(one)}`;
  };
  // what is as it was stays: somebody may be at work in it
  const put = (home, before, fresh) => {
    const find = (parent, id) => [...parent?.children ?? []].find((one) => one.id === id);
    for (const one of [...home.children]) if (!find(fresh, one.id)) one.remove();
    for (const [place, one] of [...fresh.children].entries()) {
      const here = find(home, one.id);
      if (!here) home.insertBefore(one.cloneNode(true), home.children[place] ?? null);
      else if (!find(before, one.id)?.isEqualNode(one)) here.replaceWith(one.cloneNode(true));
    }
  };
  const known = new Map(["main", "outline"].map((id) => [id, byId(id).cloneNode(true)]));
  let version = sign.dataset.version;
  const ask = async () => {
    const reply = await fetch(location.pathname + location.search, { cache: "no-store", headers: { "If-None-Match": version } });
    if (reply.status === 304) return;
    if (!reply.ok) throw new Error(String(reply.status));
    const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
    const follows = scrollY > 0 || document.body.classList.contains("talking");
    const isAtEnd = follows && innerHeight + scrollY > document.body.scrollHeight - 120;
    const open = new Map(folds().map((one) => [place(one), one.open]));
    for (const [id, before] of known) {
      const now = fresh.getElementById(id);
      put(byId(id), before, now);
      known.set(id, now);
    }
    for (const one of document.querySelectorAll("h1.thread")) one.textContent = fresh.querySelector("h1.thread").textContent;
    document.title = fresh.title;
    for (const one of folds()) one.open = open.get(place(one)) ?? one.open;
    version = reply.headers.get("ETag") || "";
    document.dispatchEvent(new Event("patched"));
    if (isAtEnd) scrollTo({ top: document.body.scrollHeight, behavior: "instant" });
  };
  let missed = 0;
  let asked = Promise.resolve();
  const refresh = () => (asked = asked.then(ask, ask));
  document.addEventListener("refresh", ({ detail }) => refresh().then(detail, detail));
  const poll = async () => {
    const began = performance.now();
    missed = await refresh().then(() => 0, () => missed + 1);
    sign.textContent = missed > 2 ? "no longer live" : "live";
    sign.classList.toggle("ended", missed > 2);
    document.dispatchEvent(new CustomEvent("server", { detail: missed > 2 ? "away" : "there" }));
    // a long page takes its time to be made: the run shall not have to wait for it
    setTimeout(poll, Math.max(missed > 2 ? 3000 : 700, 5 * (performance.now() - began)));
  };
  poll();
})();
