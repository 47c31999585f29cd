// What a document remembers between two looks at it: numbers of elements, and when it changed.
// Prepended to the scripts that need it; evaluates to the store.
const openStore = () => {
  const KEY = Symbol.for("manus.page");
  if (!window[KEY]) Object.defineProperty(window, KEY, { value: { listening: new WeakSet() }, enumerable: false });
  const store = window[KEY];
  if (!store.ids) {
    store.ids = new WeakMap();
    store.elements = new Map();
    store.next = 1;
    store.token = Math.random().toString(36).slice(2);
    store.changedAt = performance.now();
    new MutationObserver(() => { store.changedAt = performance.now(); }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  }
  return store;
};
