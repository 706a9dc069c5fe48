type Listener = () => void;

let text = '';
let stop: Listener | null = null;
const listeners = new Set<Listener>();

function type(next: string): void {
  text = next;
  for (const listener of listeners) listener();
}

/**
 * What is typed into the command palette, from the moment when it is opened: until its field has the focus, its code may
 * still be loading, and letters would be lost or end up in another field.
 */
export const paletteQuery = {
  /** Starts anew, and collects keys from now on. */
  collect(): void {
    stop?.();
    type('');
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if (event.key === 'Backspace') type(text.slice(0, -1));
      else if (event.key.length === 1) type(text + event.key);
      else return;
      event.preventDefault();
      event.stopPropagation();
    };
    window.addEventListener('keydown', onKey, { capture: true });
    stop = () => window.removeEventListener('keydown', onKey, { capture: true });
  },
  /** Stops collecting, because the field has the focus or the palette was closed. */
  end(): void {
    stop?.();
    stop = null;
  },
  read: () => text,
  set: type,
  subscribe(listener: Listener): Listener {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};
