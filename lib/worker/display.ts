/** A terminal, or whatever stderr is redirected to. */
export interface OutputStream {
  write(text: string): unknown;
  /** Width of a terminal in characters; 0 if it is unknown. */
  columns?: number;
}

/** What the user sees during a run. */
export interface Display {
  /** Prints a line. */
  line(text: string): void;
  /** Updates the progress bar; only on a terminal. */
  progress(done: number, total: number, doing: string): void;
  /** Removes the progress bar before other output. */
  clear(): void;
}

const BAR_WIDTH = 24;
const ERASE_LINE = '\r\u001b[2K';

/**
 * Shows a progress bar below the lines on a terminal, plain lines otherwise. (The bar of a prompt library
 * would put the terminal in raw mode and exit on Ctrl-C before the run can end properly.)
 */
export function createDisplay(stream: OutputStream, isTerminal: boolean): Display {
  let bar = '';
  const show = (text: string) => {
    if (text === bar) return;
    stream.write(`${bar === '' ? '' : ERASE_LINE}${text}`);
    bar = text;
  };
  return {
    line(text) {
      const below = bar;
      show('');
      stream.write(`${text}\n`);
      show(below);
    },
    progress(done, total, doing) {
      if (!isTerminal) return;
      const filled = total === 0 ? 0 : Math.floor((done / total) * BAR_WIDTH);
      const blocks = `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)}`;
      // 0 if the terminal's width is unknown.
      const width = stream.columns || 80;
      show(`${blocks} ${done}/${total} ${doing}`.slice(0, width - 1));
    },
    clear: () => show(''),
  };
}
