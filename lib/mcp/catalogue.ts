import { tools } from '../tools/catalogue.ts';
import type { Catalogue } from './base/offers.ts';
import { prompts } from './prompts.ts';
import { resources } from './resources.ts';

/** Every tool, resource and prompt of the server. */
export const catalogue: Catalogue = { tools, resources, prompts };
