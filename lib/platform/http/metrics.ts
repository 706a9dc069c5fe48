export interface Metrics {
  placeholder: true;
}
