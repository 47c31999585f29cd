// The data kept in a document between two snapshots: the numbers of elements, the time of the last
// change, closed shadow roots, and which elements listen for clicks, which no selector can find (a Proxy keeps the look of
// the native function). Runs in every document before its own scripts; prepended to our other scripts.
const openStore = () => {
  const KEY = Symbol.for("manus.page");
  const known = window[KEY];
  if (known && known.document === document) return known;
  const store = { document, listening: new WeakMap(), roots: new WeakMap(), ids: new WeakMap(), elements: new Map(), scrolledOut: new WeakSet(), next: 1, token: Math.random().toString(36).slice(2), changedAt: performance.now() };
  Object.defineProperty(window, KEY, { value: store, enumerable: false, configurable: true });
  new MutationObserver(() => { store.changedAt = performance.now(); }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  if (known) return store; // the window now shows another document
  const KINDS = new Set(["click", "mousedown", "mouseup", "pointerdown", "pointerup", "dblclick", "touchstart", "drop"]);
  EventTarget.prototype.addEventListener = new Proxy(EventTarget.prototype.addEventListener, {
    apply(target, self, args) {
      if (self instanceof Element && KINDS.has(args[0]) && window[KEY]) {
        const { listening } = window[KEY];
        if (!listening.has(self)) listening.set(self, new Set());
        listening.get(self).add(args[0]);
      }
      return Reflect.apply(target, self, args);
    },
  });
  Element.prototype.attachShadow = new Proxy(Element.prototype.attachShadow, {
    apply(target, self, args) {
      const root = Reflect.apply(target, self, args);
      window[KEY]?.roots.set(self, root);
      return root;
    },
  });
  return store;
};
// The shadow root of an element, also a closed one.
const shadowOf = (el) => el.shadowRoot || window[Symbol.for("manus.page")]?.roots.get(el);
