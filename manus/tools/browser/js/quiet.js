// How long nothing has changed, in milliseconds; needs openStore.
() => {
  const store = openStore();
  return { token: store.token, still: performance.now() - store.changedAt, ready: document.readyState };
}
