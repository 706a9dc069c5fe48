import { type ReactNode, useEffect, useState } from 'react';

const SHOWN_MS = 1_500;

interface CopyButtonProps {
  value: string;
  children(state: { copied: boolean; copy(): void }): ReactNode;
}

/** Copies a text, also on a page that another machine of the network serves over plain http. */
export function CopyButton({ value, children }: CopyButtonProps) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () => void copyText(value).then(setCopied, () => setCopied(false));
  return children({ copied, copy });
}

/** False if the browser does not allow it. */
async function copyText(text: string): Promise<boolean> {
  // Browsers offer the clipboard only over https and on their own machine.
  if (window.isSecureContext) {
    await navigator.clipboard.writeText(text);
    return true;
  }
  const area = document.createElement('textarea');
  area.value = text;
  area.style.position = 'fixed';
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  return isCopied;
}
