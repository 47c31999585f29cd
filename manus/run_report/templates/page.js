"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const isPressed = (button) => button.getAttribute("aria-pressed") === "true";
  const press = (button, on) => button.setAttribute("aria-pressed", String(on));

  byId("tools").hidden = false;

  // folding
  const unfold = byId("unfold");
  unfold.addEventListener("click", () => {
    const open = !isPressed(unfold);
    for (const one of all(".step details, .file")) one.open = open;
    press(unfold, open);
    unfold.textContent = open ? "Fold" : "Unfold";
  });
  addEventListener("beforeprint", () => { for (const one of all("details")) one.open = true; });

  // filter
  const field = byId("filter");
  const failed = byId("failed");
  const sift = () => {
    const words = field.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const onlyFailed = isPressed(failed);
    const sifted = words.length > 0 || onlyFailed;
    const every = all("article.step");
    for (const one of every) {
      const text = words.length ? one.textContent.toLowerCase() : "";
      one.hidden = !words.every((word) => text.includes(word)) || (onlyFailed && !one.classList.contains("bad"));
    }
    for (const one of all("article.planstep")) {
      one.hidden = sifted && !one.querySelector("article.step:not([hidden])");
    }
    for (const link of all(".outline a")) {
      link.parentElement.hidden = sifted && Boolean(byId(link.hash.slice(1))?.hidden);
    }
    byId("found").textContent = sifted ? `${every.filter((one) => !one.hidden).length} of ${every.length}` : "";
    return sifted ? every.filter((one) => !one.hidden && !one.closest("details:not([open])")) : [];
  };
  const siftAndShow = () => {
    const found = sift();
    const isSeen = (one) => one.getBoundingClientRect().bottom > 60 && one.getBoundingClientRect().top < innerHeight;
    if (found.length && !found.some(isSeen)) found[0].scrollIntoView({ block: "start", behavior: "instant" });
  };
  field.addEventListener("input", siftAndShow);
  failed.addEventListener("click", () => { press(failed, !isPressed(failed)); siftAndShow(); });

  // a live page: what the server changed is put in place of what was there
  const sign = byId("live");
  if (!sign) return;
  // `known` is what the server sent the last time: the reader may have unfolded parts since
  const patch = (old, known, fresh) => {
    if (known && known.isEqualNode(fresh)) return;
    if (fresh.dataset.c === undefined) {
      const open = all("details", old).map((one) => one.open);
      const copy = fresh.cloneNode(true);
      all("details", copy).forEach((one, place) => { if (open[place]) one.open = true; });
      old.replaceWith(copy);
      return;
    }
    const find = (parent, id) => parent && id && [...parent.children].find((one) => one.id === id);
    old.className = fresh.className;
    for (const one of [...old.children]) if (!find(fresh, one.id)) one.remove();
    for (const one of fresh.children) {
      const same = find(old, one.id);
      if (same) patch(same, find(known, one.id), one);
      else old.append(one.cloneNode(true));
    }
    const order = [...fresh.children].map((one) => one.id);
    if ([...old.children].some((one, place) => one.id !== order[place])) {
      old.append(...order.map((id) => find(old, id)));
    }
  };
  let known = null;
  let version = "";
  const ask = async () => {
    const reply = await fetch(location.pathname, { cache: "no-store", headers: { "If-None-Match": version } });
    if (reply.status === 304) return;
    if (!reply.ok) throw new Error(String(reply.status));
    const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
    const isAtEnd = scrollY > 0 && innerHeight + scrollY > document.body.scrollHeight - 120;
    for (const id of ["main", "outline"]) patch(byId(id), known?.getElementById(id), fresh.getElementById(id));
    known = fresh;
    version = reply.headers.get("ETag") || "";
    sift();
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
