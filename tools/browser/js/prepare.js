// Runs in every document before its own scripts: remembers which elements listen for clicks,
// which no selector can tell. A Proxy keeps the native function's look.
(() => {
  const KEY = Symbol.for("manus.page");
  if (window[KEY]) return;
  const listening = new WeakSet();
  const KINDS = new Set(["click", "mousedown", "mouseup", "pointerdown", "pointerup", "dblclick", "touchstart"]);
  Object.defineProperty(window, KEY, { value: { listening }, enumerable: false });
  EventTarget.prototype.addEventListener = new Proxy(EventTarget.prototype.addEventListener, {
    apply(target, self, args) {
      if (self instanceof Element && KINDS.has(args[0])) listening.add(self);
      return Reflect.apply(target, self, args);
    },
  });
})();
