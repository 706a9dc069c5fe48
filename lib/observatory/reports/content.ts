import type { Block } from './render-html.ts';

/** What a report says, and the subject it has when nobody gives one. */
export interface Content {
  subject: string;
  blocks: Block[];
}
