"use strict";
(() => {
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const steps = () => all("article.step").filter((one) => !one.hidden && !one.closest("details:not([open])"));
  const stored = {
    get: () => { try { return localStorage.getItem("manus-theme"); } catch { return null; } },
    set: (value) => { try { localStorage.setItem("manus-theme", value); } catch { /* not kept */ } },
  };

  root.classList.add("scripted");
  byId("tools").hidden = false;

  // light and dark
  const isDark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const nameTheme = () => { byId("theme").textContent = isDark() ? "Light" : "Dark"; };
  const kept = stored.get();
  if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  const turnTheme = () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    stored.set(root.dataset.theme);
    nameTheme();
  };
  nameTheme();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);
  byId("theme").addEventListener("click", turnTheme);

  // folding
  const unfold = byId("unfold");
  const setAll = (open) => {
    for (const one of all(".step details, .file")) one.open = open;
    unfold.setAttribute("aria-pressed", String(open));
    unfold.textContent = open ? "Fold" : "Unfold";
  };
  const turnAll = () => setAll(unfold.getAttribute("aria-pressed") !== "true");
  unfold.addEventListener("click", turnAll);
  addEventListener("beforeprint", () => { for (const one of all("details")) one.open = true; });

  // filter
  const field = byId("filter");
  const failed = byId("failed");
  const sift = () => {
    const words = field.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const onlyFailed = failed.getAttribute("aria-pressed") === "true";
    const every = all("article.step");
    let shown = 0;
    for (const one of every) {
      const text = words.length ? one.textContent.toLowerCase() : "";
      const fits = words.every((word) => text.includes(word));
      one.hidden = !fits || (onlyFailed && !one.classList.contains("bad"));
      shown += one.hidden ? 0 : 1;
    }
    const sifted = words.length > 0 || onlyFailed;
    for (const one of all("article.planstep")) {
      one.hidden = sifted && !one.querySelector("article.step:not([hidden])");
    }
    for (const link of all(".outline a")) {
      const target = byId(link.hash.slice(1));
      link.parentElement.hidden = sifted && Boolean(target) && target.hidden;
    }
    byId("found").textContent = sifted ? `${shown} of ${every.length}` : "";
    return sifted;
  };
  const isSeen = (one) => {
    const place = one.getBoundingClientRect();
    return place.bottom > 60 && place.top < innerHeight;
  };
  const siftAndShow = () => {
    const found = sift() ? steps() : [];
    if (found.length && !found.some(isSeen)) found[0].scrollIntoView({ block: "start", behavior: "instant" });
  };
  field.addEventListener("input", siftAndShow);
  const turnFailed = () => {
    failed.setAttribute("aria-pressed", String(failed.getAttribute("aria-pressed") !== "true"));
    siftAndShow();
  };
  failed.addEventListener("click", turnFailed);

  // from step to step
  let here = null;
  const go = (step) => {
    here = step.id;
    step.scrollIntoView({ block: "start", behavior: "instant" });
    step.focus({ preventScroll: true });
    mark();
  };
  const mark = () => {
    for (const link of all(".outline a")) link.classList.toggle("here", link.hash === `#${here}`);
  };
  const move = (by) => {
    const list = steps();
    if (!list.length) return;
    let at = list.findIndex((one) => one.id === here);
    if (at < 0) {
      at = list.findIndex((one) => one.getBoundingClientRect().bottom > 80);
      if (by > 0) at -= 1;
    }
    go(list[Math.min(Math.max(at + by, 0), list.length - 1)]);
  };
  const follow = () => {
    const target = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let one = target.parentElement; one; one = one.parentElement) {
      if (one instanceof HTMLDetailsElement) one.open = true;
    }
    here = target.id;
    target.scrollIntoView({ block: "start", behavior: "instant" });
    mark();
  };
  addEventListener("hashchange", follow);
  follow();

  const keys = {
    j: () => move(1), k: () => move(-1), e: turnAll, x: turnFailed, t: turnTheme,
    "/": () => { field.focus(); field.select(); },
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === field) {
      if (event.key === "Escape") { field.value = ""; sift(); field.blur(); }
      if (event.key === "Enter") field.blur();
      return;
    }
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });

  // a live page: what the server changed is put in place of what was there
  const sign = byId("live");
  if (!sign) return;
  const replace = (old, fresh) => {
    const open = all("details", old).map((one) => one.open);
    all("details", fresh).forEach((one, place) => { if (open[place]) one.open = true; });
    const focused = old.contains(document.activeElement);
    old.replaceWith(fresh);
    if (focused && fresh.tabIndex === -1) fresh.focus({ preventScroll: true });
  };
  // `known` is what the server sent the last time: the reader may have unfolded parts since
  const patch = (old, known, fresh) => {
    if (known && known.isEqualNode(fresh)) return;
    if (fresh.dataset.c === undefined) { replace(old, fresh.cloneNode(true)); return; }
    const find = (parent, id) => parent && id && [...parent.children].find((one) => one.id === id);
    old.className = fresh.className;
    for (const one of [...old.children]) if (!find(fresh, one.id)) one.remove();
    let place = old.firstElementChild;
    for (const one of fresh.children) {
      const same = find(old, one.id);
      if (same !== place || !same) old.insertBefore(same || one.cloneNode(true), place);
      else place = place.nextElementSibling;
      if (same) patch(same, find(known, one.id), one);
    }
  };
  const isAtEnd = () => innerHeight + scrollY > document.body.scrollHeight - 120 && scrollY > 0;
  const read = (text) => new DOMParser().parseFromString(text, "text/html");
  let known = null;
  let version = "";
  const ask = async () => {
    const reply = await fetch(location.pathname, { cache: "no-store", headers: { "If-None-Match": version } });
    if (reply.status === 304) return;
    if (!reply.ok) throw new Error(String(reply.status));
    const fresh = read(await reply.text());
    const atEnd = isAtEnd();
    for (const id of ["main", "outline"]) {
      patch(byId(id), known && known.getElementById(id), fresh.getElementById(id));
    }
    known = fresh;
    version = reply.headers.get("ETag") || "";
    sift();
    mark();
    if (atEnd) scrollTo({ top: document.body.scrollHeight, behavior: "instant" });
  };
  let missed = 0;
  const poll = async () => {
    const began = performance.now();
    try {
      await ask();
      missed = 0;
      sign.textContent = "live";
      sign.classList.remove("ended");
    } catch {
      missed += 1;
      if (missed > 2) { sign.textContent = "no longer live"; sign.classList.add("ended"); }
    }
    // a long page takes its time to be made: the run shall not have to wait for it
    setTimeout(poll, Math.max(missed > 2 ? 3000 : 700, 5 * (performance.now() - began)));
  };
  poll();
})();
