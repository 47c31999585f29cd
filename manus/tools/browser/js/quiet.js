// Milliseconds since the last change of the document; needs openStore.
() => {
  const store = openStore();
  return { token: store.token, still: performance.now() - store.changedAt, ready: document.readyState };
}
