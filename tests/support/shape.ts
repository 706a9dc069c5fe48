import { z } from 'zod';

/**
 * Validates a JSON value against a schema more strictly than parsing does: no field may be missing or additional, and
 * fields must be in the schema's order. Throws an Error for the first problem.
 */
export function checkShape(schema: z.core.$ZodType, value: unknown, path = 'body'): void {
  z.parse(schema, value);
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) {
    if (value !== null && value !== undefined) checkShape(schema.unwrap(), value, path);
  } else if (schema instanceof z.ZodUnion) {
    const fitting = schema.options.find((option) => z.safeParse(option, value).success);
    if (fitting) checkShape(fitting, value, path);
  } else if (schema instanceof z.ZodArray) {
    for (const [index, item] of z.array(z.unknown()).parse(value).entries()) {
      checkShape(schema.element, item, `${path}[${index}]`);
    }
  } else if (schema instanceof z.ZodObject && schema.def.catchall === undefined) {
    checkFields(schema, z.record(z.string(), z.unknown()).parse(value), path);
  }
}

function checkFields(schema: z.ZodObject, value: Record<string, unknown>, path: string): void {
  const present = Object.keys(value);
  const expected = Object.keys(schema.shape).filter(
    (name) => present.includes(name) || !(schema.shape[name] instanceof z.ZodOptional),
  );
  if (present.join() !== expected.join()) {
    throw new Error(`${path} has the fields ${present.join()} instead of ${expected.join()}`);
  }
  for (const name of present) {
    const field = schema.shape[name];
    if (field) checkShape(field, value[name], `${path}.${name}`);
  }
}
