import { Modal, type ModalProps } from '@mantine/core';

/** A window over the page. */
export function Dialog(props: ModalProps) {
  return <Modal size="lg" closeButtonProps={{ 'aria-label': 'Close' }} {...props} />;
}
