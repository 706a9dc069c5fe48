import * as z from 'zod';
import { redactedField } from './show-output.ts';
import type { Tool, ToolAnnotations } from './tool.ts';

/** A schema in JSON, as the protocol carries it. */
export interface ObjectSchema {
  [keyword: string]: unknown;
  type: 'object';
}

/** A tool as `tools/list` publishes it. */
export interface ToolDescription {
  name: string;
  title: string;
  description: string;
  inputSchema: ObjectSchema;
  outputSchema: ObjectSchema;
  annotations: ToolAnnotations;
}

/**
 * Describes a tool in the protocol's words. Every answer may say how many secrets were taken out. The output schema says fields and types alone, so that the
 * whole list stays small (40 KB) for the models that read it.
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
      // zod leaves the default of a parameter out when its text is read as a number.
      if (io === 'input' && def.type === 'default') jsonSchema.default = def.defaultValue;
      if (io === 'output') delete jsonSchema.additionalProperties;
    },
  });
  return { ...described, type: 'object' };
}
