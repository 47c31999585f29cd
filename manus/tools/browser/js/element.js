// The element with a number, or null if this document no longer contains it.
// Takes {token, id}; needs openStore.
({ token, id }) => {
  const store = openStore();
  const reference = store.token === token ? store.elements.get(id) : null;
  const element = reference && reference.deref();
  return element && element.isConnected ? element : null;
}
