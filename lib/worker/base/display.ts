import { cutToWidth } from '../../text/cut-width.ts';

/** A terminal, or whatever stderr is redirected to. */
export interface OutputStream {
  write(text: string): unknown;
  /** Width of a terminal in characters; 0 if it is unknown. */
  columns?: number;
  /** Its height in lines; 0 if it is unknown. */
  rows?: number;
}

/** What the user sees while a command works. */
export interface Display {
  isTerminal: boolean;
  /** Prints a line. */
  line(text: string): void;
  /** Updates the progress bar; only on a terminal. */
  progress(done: number, total: number, doing: string): void;
  /** Replaces the lines that are shown below all others; only on a terminal. */
  footer(lines: readonly string[]): void;
  /** Removes the progress bar or the lines below before other output. */
  clear(): void;
}

const BAR_WIDTH = 24;
const ERASE_LINE = '\r\u001b[2K';
const ERASE_BELOW = '\u001b[J';

/**
 * Shows progress below the lines on a terminal, plain lines otherwise. (The bar of a prompt library would put the
 * terminal in raw mode and exit on Ctrl-C before the run can end properly.)
 */
export function createDisplay(stream: OutputStream, isTerminal: boolean): Display {
  let shown: readonly string[] = [];
  const show = (lines: readonly string[]) => {
    if (lines.join('\n') === shown.join('\n')) return;
    const up = shown.length > 1 ? `\u001b[${shown.length - 1}A${ERASE_BELOW}` : '';
    const erase = shown.length === 0 ? '' : `${ERASE_LINE}${up}`;
    // Written in one piece to avoid flicker.
    stream.write(`${erase}${lines.join('\n')}`);
    shown = lines;
  };
  const cut = (lines: readonly string[]) => {
    // Both are 0 if the terminal's size is unknown. Lines that wrap or scroll away could not be erased.
    const columns = stream.columns || 80;
    const rows = stream.rows || 24;
    return lines.slice(0, Math.max(1, rows - 1)).map((line) => cutToWidth(line, columns - 1));
  };
  return {
    isTerminal,
    line(text) {
      const below = shown;
      show([]);
      stream.write(`${text}\n`);
      show(below);
    },
    progress(done, total, doing) {
      if (!isTerminal) return;
      const filled = total === 0 ? 0 : Math.floor((done / total) * BAR_WIDTH);
      const blocks = `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)}`;
      show(cut([`${blocks} ${done}/${total} ${doing}`]));
    },
    footer(lines) {
      if (isTerminal) show(cut(lines));
    },
    clear: () => show([]),
  };
}
