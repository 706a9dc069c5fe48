/** A piece of what a model said: part of its answer, or of the reasoning before it. */
export interface SaidPiece {
  kind: 'text' | 'reasoning';
  text: string;
  /** All text before this piece was reasoning too: some models leave out the start of it. */
  endsHidden?: true;
}

/** A tag around reasoning, as open models write it into their answers, or the end of a line. */
const mark = /<(\/?)think(?:ing)?>|\n/gi;
/** The end of a piece that may be the beginning of a tag. */
const begunTag = /<\/?(?:t(?:h(?:i(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?)?)?)?$/i;
/** The start of a fenced block of code, which may show the tags. */
const fence = /^ {0,3}(`{3,}|~{3,})/;
/** Enough of a line to recognize a fence. */
const MAX_HEAD_CHARS = 8;

/**
 * Separates `<think>…</think>` from the answer around it while it is streamed. Tags in code (a fenced block, or behind
 * a backtick) are part of the answer. Without its end, reasoning lasts until the end of the text; without its start,
 * it began with the text.
 */
export class ReasoningSplitter {
  #held = '';
  #isReasoning = false;
  #hasText = false;
  #hasReasoning = false;
  /** Whether the line breaks after reasoning are dropped, because the answer begins there. */
  #dropsBreaks = false;
  #line = '';
  #before = '';
  #fence: string | null = null;

  /** The pieces that are complete. The beginning of what may be a tag is held back. */
  push(piece: string): SaidPiece[] {
    const text = this.#held + piece;
    const held = begunTag.exec(text)?.[0] ?? '';
    this.#held = held;
    return this.#split(text.slice(0, text.length - held.length));
  }

  /** The rest, once the text has ended. */
  end(): SaidPiece[] {
    const rest = this.#held;
    this.#held = '';
    return this.#split(rest);
  }

  #split(text: string): SaidPiece[] {
    const pieces: SaidPiece[] = [];
    let from = 0;
    const take = (to: number) => {
      const part = text.slice(from, to);
      if (part !== '') this.#add(pieces, part);
    };
    for (const found of text.matchAll(mark)) {
      const [tag, slash] = found;
      const to = found.index + tag.length;
      if (tag === '\n') {
        take(to);
        from = to;
        continue;
      }
      take(found.index);
      from = found.index;
      const isEnd = slash === '/';
      if (!this.#isReasoning && isEnd && !this.#hasReasoning && !this.#isCode()) {
        // Whatever follows a hidden start is the answer.
        this.#hasReasoning = true;
        this.#hasText = false;
        this.#dropsBreaks = true;
        pieces.push({ kind: 'reasoning', text: '', endsHidden: true });
        from = to;
        continue;
      }
      if (this.#isReasoning ? !isEnd : isEnd || this.#isCode()) continue;
      this.#hasReasoning = true;
      this.#isReasoning = !this.#isReasoning;
      this.#dropsBreaks = !this.#isReasoning && !this.#hasText;
      from = to;
    }
    take(text.length);
    return pieces;
  }

  #add(pieces: SaidPiece[], part: string): void {
    const kind = this.#isReasoning ? 'reasoning' : 'text';
    let text = part;
    if (kind === 'text') {
      if (this.#dropsBreaks) text = text.replace(/^[\r\n]+/, '');
      if (text === '') return;
      this.#dropsBreaks = false;
      this.#hasText = true;
      this.#follow(text);
    }
    const last = pieces.at(-1);
    if (last?.kind === kind && !last.endsHidden) last.text += text;
    else pieces.push({ kind, text });
  }

  /** Follows the lines of the answer, to know where code is. */
  #follow(text: string): void {
    this.#before = text.slice(-1);
    if (this.#line.length < MAX_HEAD_CHARS) {
      this.#line += text.slice(0, MAX_HEAD_CHARS - this.#line.length);
    }
    if (!text.endsWith('\n')) return;
    const [, found] = fence.exec(this.#line) ?? [];
    this.#line = '';
    if (found === undefined) return;
    if (this.#fence === null) this.#fence = found.slice(0, 1);
    else if (found.startsWith(this.#fence)) this.#fence = null;
  }

  #isCode(): boolean {
    return this.#fence !== null || this.#before === '`' || fence.test(this.#line);
  }
}

/** Separates the reasoning from a whole text. */
export function splitReasoning(said: string): { text: string; reasoning: string } {
  const splitter = new ReasoningSplitter();
  return joinPieces([...splitter.push(said), ...splitter.end()]);
}

/** The answer and the reasoning that consist of these pieces. */
export function joinPieces(pieces: readonly SaidPiece[]): { text: string; reasoning: string } {
  const said = { text: '', reasoning: '' };
  for (const { kind, text, endsHidden } of pieces) {
    if (endsHidden) {
      said.reasoning += said.text;
      said.text = '';
    }
    said[kind] += text;
  }
  return said;
}
