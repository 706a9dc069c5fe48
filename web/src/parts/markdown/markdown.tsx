import { Anchor, Title, Typography } from '@mantine/core';
import { memo, type ReactNode } from 'react';
import parse, { type Components } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { safeAddress } from '../safe-address.ts';
import { isHardToParse } from './hard-markdown.ts';
import classes from './markdown.module.css';
import { splitMarkdown } from './split-markdown.ts';

/** Shows untrusted Markdown: no HTML, no images, and links only to addresses that `safeAddress` allows. */
export function Markdown({ text }: { text: string }) {
  return (
    <Typography className={classes.markdown}>
      {splitMarkdown(text).map((part, index) => (
        // Parts never change their order.
        // biome-ignore lint/suspicious/noArrayIndexKey: see above
        <Part key={index} text={part} />
      ))}
    </Typography>
  );
}

const Part = memo(function Part({ text }: { text: string }) {
  if (isHardToParse(text)) return <pre className={classes.plain}>{text}</pre>;
  return parse({
    children: text,
    remarkPlugins: [remarkGfm],
    components,
    // `Reference` checks the addresses of links and images.
    urlTransform: (address) => address,
  });
});

/** A link, or its text and address if `safeAddress` rejects the address. */
function Reference({ to, children }: { to: string | undefined; children: ReactNode }) {
  const address = safeAddress(to);
  if (address === null) {
    return (
      <bdi>
        {children}
        {to === undefined || to.startsWith('#') ? null : ` (${to.slice(0, 200)})`}
      </bdi>
    );
  }
  return (
    <Anchor inherit href={address} rel="noopener noreferrer" target="_blank" underline="always">
      <bdi>{children}</bdi>
    </Anchor>
  );
}

/** A heading one level below the title of the page, whatever its level in the Markdown. */
const heading =
  (size: 'h4' | 'h5' | 'h6'): Components['h1'] =>
  ({ children }) => (
    <Title order={2} size={size}>
      {children}
    </Title>
  );

const components: Components = {
  h1: heading('h4'),
  h2: heading('h4'),
  h3: heading('h5'),
  h4: heading('h5'),
  h5: heading('h6'),
  h6: heading('h6'),
  a: ({ href, children }) => <Reference to={href}>{children}</Reference>,
  img: ({ src, alt }) => (
    <Reference to={typeof src === 'string' ? src : undefined}>{alt || 'image'}</Reference>
  ),
  code: ({ children }) => (
    <code>
      <bdi>{children}</bdi>
    </code>
  ),
};
