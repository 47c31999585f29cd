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
  addEventListener("beforeprint", () => { for (const one of folds()) one.open = true; });

  // a live page: what the server has now is put in place of what was there
  const sign = byId("live");
  if (!sign) return;
  const place = (one) => {
    const home = one.closest("[id]");
    return `${home.id} ${folds(home).indexOf(one)}`;
  };
  let version = "";
  const ask = async () => {
    const reply = await fetch(location.pathname, { cache: "no-store", headers: { "If-None-Match": version } });
    if (reply.status === 304) return;
    if (!reply.ok) throw new Error(String(reply.status));
    const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
    const isAtEnd = scrollY > 0 && innerHeight + scrollY > document.body.scrollHeight - 120;
    const open = new Map(folds().map((one) => [place(one), one.open]));
    byId("main").replaceChildren(...fresh.getElementById("main").childNodes);
    for (const one of folds()) one.open = open.get(place(one)) ?? one.open;
    version = reply.headers.get("ETag") || "";
    if (isAtEnd) scrollTo({ top: document.body.scrollHeight, behavior: "instant" });
  };
  let missed = 0;
  const poll = async () => {
    const began = performance.now();
    missed = await ask().then(() => 0, () => missed + 1);
    sign.textContent = missed > 2 ? "no longer live" : "live";
    sign.classList.toggle("ended", missed > 2);
    // a long page takes its time to be made: the run shall not have to wait for it
    setTimeout(poll, Math.max(missed > 2 ? 3000 : 700, 5 * (performance.now() - began)));
  };
  poll();
})();
