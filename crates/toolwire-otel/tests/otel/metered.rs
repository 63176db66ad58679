//! A collector of metrics in memory.

use opentelemetry::KeyValue;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use toolwire_otel::Telemetry;

/// Telemetry whose metrics are collected in memory.
pub(crate) struct Metered {
    pub(crate) telemetry: Telemetry,
    exporter: InMemoryMetricExporter,
    pub(crate) provider: SdkMeterProvider,
}

impl Metered {
    pub(crate) fn new() -> Self {
        let exporter = InMemoryMetricExporter::default();
        let reader = PeriodicReader::builder(exporter.clone()).build();
        let provider = SdkMeterProvider::builder().with_reader(reader).build();
        Self {
            telemetry: Telemetry::new().with_meter_provider(&provider),
            exporter,
            provider,
        }
    }

    /// Returns all metrics with their attributes as text.
    pub(crate) fn text(&self) -> String {
        self.exporter.reset();
        self.provider.force_flush().expect("metrics");
        format!(
            "{:?}",
            self.exporter.get_finished_metrics().expect("metrics")
        )
    }

    /// Returns the attributes and the value of each time series of a metric: for a histogram, the number of values.
    pub(crate) fn series(&self, name: &str) -> Vec<(Vec<KeyValue>, i64)> {
        self.exporter.reset();
        self.provider.force_flush().expect("metrics");
        let collected = self.exporter.get_finished_metrics().expect("metrics");
        let collected = collected.last().expect("a collection");
        let metrics = collected.scope_metrics().flat_map(|scope| scope.metrics());
        let mut series = Vec::new();
        for metric in metrics.filter(|metric| metric.name() == name) {
            match metric.data() {
                AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
                    assert_eq!(metric.unit(), "s");
                    for point in histogram.data_points() {
                        let bounds: Vec<f64> = point.bounds().collect();
                        let expected = match name {
                            "db.client.operation.duration" => (9, 0.001, 10.0),
                            _ => (14, 0.01, 300.0),
                        };
                        let found = (bounds.len(), bounds[0], bounds[bounds.len() - 1]);
                        assert_eq!(found, expected, "{bounds:?}");
                        let count = i64::try_from(point.count()).expect("a small number");
                        series.push((point.attributes().cloned().collect(), count));
                    }
                }
                AggregatedMetrics::I64(MetricData::Sum(sum)) => {
                    for point in sum.data_points() {
                        series.push((point.attributes().cloned().collect(), point.value()));
                    }
                }
                AggregatedMetrics::U64(MetricData::Gauge(gauge)) => {
                    for point in gauge.data_points() {
                        let value = i64::try_from(point.value()).expect("a small number");
                        series.push((point.attributes().cloned().collect(), value));
                    }
                }
                AggregatedMetrics::U64(MetricData::Sum(sum)) => {
                    for point in sum.data_points() {
                        let value = i64::try_from(point.value()).expect("a small number");
                        series.push((point.attributes().cloned().collect(), value));
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        series
    }
}
