import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { Redactor } from '../../security/redaction/redactor.ts';
import { removeDeceptiveCharactersFrom } from '../../text/hidden-text.ts';

type JsonObject = Record<string, unknown>;

/**
 * Removes secrets from an outgoing message, and characters that hide or reorder text. JSON texts in a message are
 * written here, after redaction, so that they stay valid and equal to the structured form.
 */
export function redactMessage(message: JSONRPCMessage, redactor: Redactor): JSONRPCMessage {
  const shown = removeDeceptiveCharactersFrom(message);
  if (!('result' in shown)) return redactor.value(shown);
  return { ...shown, result: redactResult(shown.result, redactor) };
}

function redactResult(result: JsonObject, redactor: Redactor): JsonObject {
  const { structuredContent, contents, ...rest } = result;
  const redacted: JsonObject = redactor.value(rest);
  if (isObject(structuredContent)) {
    const structured = redactor.value(structuredContent);
    redacted.content = [{ type: 'text', text: JSON.stringify(structured) }];
    redacted.structuredContent = structured;
  }
  if (Array.isArray(contents)) {
    redacted.contents = redactor.value(contents.map(readJson)).map(writeJson);
  }
  return redacted;
}

/** Parses the JSON text of a resource. */
function readJson(content: unknown): unknown {
  if (!isObject(content) || content.mimeType !== 'application/json') return content;
  return { ...content, text: JSON.parse(String(content.text)) };
}

function writeJson(content: unknown): unknown {
  if (!isObject(content) || content.mimeType !== 'application/json') return content;
  return { ...content, text: JSON.stringify(content.text) };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
