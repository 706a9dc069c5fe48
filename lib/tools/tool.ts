import type { z } from 'zod';
import type { ToolDeps } from './tool-deps.ts';

/** What a client may know of a tool before it calls it. */
export interface ToolAnnotations {
  title: string;
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

/** One call of a tool. */
export interface ToolCall {
  /** Aborts when nobody waits for the answer any more. */
  signal: AbortSignal;
  /** Who asks, as far as the surface knows: a user, a session, an address. Slow work is shared out by it. */
  caller?: string | undefined;
  /** Most characters of the answer as JSON: what a handler cannot cut well is cut or refused behind it. */
  maxChars: number;
}

/**
 * A tool, declared once. The MCP server and the chat agent both derive from it. Its
 * schemas are objects without unions at the top, and every parameter is described.
 */
export interface Tool<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodObject = z.ZodObject,
> {
  name: string;
  title: string;
  /** For a model that chooses among tools: what comes back, in which order, within which bounds. */
  description: string;
  input: Input;
  output: Output;
  annotations: ToolAnnotations;
  /** A client must ask a person before it calls this one. */
  needsConfirmation: boolean;
  /** Gets parsed input. Throws AppError with a message that a client may read. */
  handler(
    input: z.output<Input>,
    deps: ToolDeps,
    call: ToolCall,
  ): Promise<z.input<Output>> | z.input<Output>;
}

type Declaration<Input extends z.ZodObject, Output extends z.ZodObject> = Omit<
  Tool<Input, Output>,
  'annotations' | 'needsConfirmation'
>;

/** Declares a tool that changes nothing. */
export function readTool<Input extends z.ZodObject, Output extends z.ZodObject>(
  declaration: Declaration<Input, Output>,
): Tool<Input, Output> {
  return {
    ...declaration,
    annotations: {
      title: declaration.title,
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    },
    needsConfirmation: false,
  };
}

/** Declares a tool that adds something and needs a person's consent. It never changes what is there. */
export function writeTool<Input extends z.ZodObject, Output extends z.ZodObject>(
  declaration: Declaration<Input, Output>,
  hints: Pick<ToolAnnotations, 'idempotentHint' | 'openWorldHint'>,
): Tool<Input, Output> {
  return {
    ...declaration,
    annotations: {
      title: declaration.title,
      readOnlyHint: false,
      destructiveHint: false,
      ...hints,
    },
    needsConfirmation: true,
  };
}
