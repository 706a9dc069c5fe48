import * as z from 'zod';
import { redactedField } from './show-output.ts';
import type { Tool, ToolAnnotations } from './tool.ts';

/** A JSON schema, as sent by the protocol. */
export interface ObjectSchema {
  [keyword: string]: unknown;
  type: 'object';
}

/** A tool as listed by `tools/list`. */
export interface ToolDescription {
  name: string;
  title: string;
  description: string;
  inputSchema: ObjectSchema;
  outputSchema: ObjectSchema;
  annotations: ToolAnnotations;
}

/**
 * Describes a tool for the protocol. Every answer may contain the number of removed secrets. The output schema has
 * only fields and types, because models read the whole list, which is kept below 40 KB.
 */
export function describeTool(tool: Tool): ToolDescription {
  return {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: toObjectSchema(tool.input, 'input'),
    outputSchema: toObjectSchema(tool.output.extend(redactedField), 'output'),
    annotations: tool.annotations,
  };
}

function toObjectSchema(schema: z.ZodObject, io: 'input' | 'output'): ObjectSchema {
  const { $schema, ...described } = z.toJSONSchema(schema, {
    io,
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      // zod omits the default of a parameter that has a preprocessing step.
      if (io === 'input' && def.type === 'default') jsonSchema.default = def.defaultValue;
      if (io === 'output') delete jsonSchema.additionalProperties;
    },
  });
  return { ...described, type: 'object' };
}
