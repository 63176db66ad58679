//! Metrics in the text format of Prometheus, version 0.0.4.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::{
    AggregatedMetrics, Histogram, Metric, MetricData, ResourceMetrics, Sum,
};
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;

use crate::sync::lock;

/// The text of the last collection, or `None` before the first one. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct PrometheusText {
    text: Arc<Mutex<Option<String>>>,
}

impl PrometheusText {
    pub(super) fn get(&self) -> Option<String> {
        let text = lock(&self.text);
        text.clone()
    }
}

impl PushMetricExporter for PrometheusText {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let mut written = String::new();
        let metrics = metrics.scope_metrics().flat_map(|scope| scope.metrics());
        for metric in metrics {
            write_metric(&mut written, metric);
        }
        let mut text = lock(&self.text);
        *text = Some(written);
        Ok(())
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }

    fn temporality(&self) -> Temporality {
        Temporality::Cumulative
    }
}

fn write_metric(out: &mut String, metric: &Metric) {
    let name = metric.name().replace('.', "_");
    let help = metric.description();
    match metric.data() {
        AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
            let name = match metric.unit() {
                "s" => format!("{name}_seconds"),
                _ => name,
            };
            write_header(out, &name, "histogram", help);
            write_histogram(out, &name, histogram);
        }
        AggregatedMetrics::I64(MetricData::Sum(sum)) => write_sum(out, name, help, sum),
        AggregatedMetrics::U64(MetricData::Sum(sum)) => write_sum(out, name, help, sum),
        AggregatedMetrics::U64(MetricData::Gauge(gauge)) => {
            write_header(out, &name, "gauge", help);
            for point in gauge.data_points() {
                let labels = labels(point.attributes());
                out.push_str(&format!("{name}{{{labels}}} {}\n", point.value()));
            }
        }
        // There are no other metrics.
        _ => {}
    }
}

fn write_header(out: &mut String, name: &str, kind: &str, help: &str) {
    out.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
}

fn write_histogram(out: &mut String, name: &str, histogram: &Histogram<f64>) {
    for point in histogram.data_points() {
        let labels = labels(point.attributes());
        let mut count = 0;
        let bounds = point.bounds().map(|bound| bound.to_string());
        let bounds = bounds.chain(["+Inf".to_owned()]);
        for (bound, in_bucket) in bounds.zip(point.bucket_counts()) {
            count += in_bucket;
            let separator = if labels.is_empty() { "" } else { "," };
            let line = format!("{name}_bucket{{{labels}{separator}le=\"{bound}\"}} {count}\n");
            out.push_str(&line);
        }
        let (sum, count) = (point.sum(), point.count());
        let line = format!("{name}_sum{{{labels}}} {sum}\n{name}_count{{{labels}}} {count}\n");
        out.push_str(&line);
    }
}

fn write_sum<T: Copy + ToString>(out: &mut String, name: String, help: &str, sum: &Sum<T>) {
    let (name, kind) = if sum.is_monotonic() {
        (format!("{name}_total"), "counter")
    } else {
        (name, "gauge")
    };
    write_header(out, &name, kind, help);
    for point in sum.data_points() {
        let labels = labels(point.attributes());
        let value = point.value().to_string();
        out.push_str(&format!("{name}{{{labels}}} {value}\n"));
    }
}

/// Writes attributes as labels, in the order of their names.
fn labels<'a>(attributes: impl Iterator<Item = &'a KeyValue>) -> String {
    let mut attributes: Vec<(String, String)> = attributes
        .map(|attribute| {
            let key = attribute.key.as_str().replace('.', "_");
            (key, escaped(&attribute.value.as_str()))
        })
        .collect();
    attributes.sort_unstable();
    let mut labels = String::new();
    for (key, value) in attributes {
        let separator = if labels.is_empty() { "" } else { "," };
        // Writing into a string cannot fail.
        let _ = write!(labels, "{separator}{key}=\"{value}\"");
    }
    labels
}

/// Escapes the value of a label.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use opentelemetry::metrics::MeterProvider as _;
    use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};

    use super::*;

    #[test]
    fn metrics_are_written_as_text() {
        let text = PrometheusText::default();
        assert_eq!(text.get(), None);
        let reader = PeriodicReader::builder(text.clone()).build();
        let provider = SdkMeterProvider::builder().with_reader(reader).build();
        let meter = provider.meter("test");
        let name = KeyValue::new("gen_ai.tool.name", "a\"b\\c\nd");
        let durations = meter
            .f64_histogram("mcp.server.operation.duration")
            .with_unit("s")
            .with_description("Time")
            .with_boundaries(vec![0.5, 1.0])
            .build();
        durations.record(0.25, &[name]);
        durations.record(2.0, &[KeyValue::new("gen_ai.tool.name", "a\"b\\c\nd")]);
        let active = meter.i64_up_down_counter("toolwire.server.active_requests");
        active.build().add(2, &[]);
        let rejected = meter.u64_counter("toolwire.limit.rejections");
        rejected
            .build()
            .add(3, &[KeyValue::new("toolwire.limit", "deadline")]);
        let parked = meter.u64_observable_gauge("toolwire.relay.parked_calls");
        parked
            .with_callback(|observer| observer.observe(4, &[]))
            .build();
        provider.force_flush().unwrap();
        let text = text.get().expect("a collection");
        for line in [
            "# TYPE mcp_server_operation_duration_seconds histogram",
            r#"mcp_server_operation_duration_seconds_bucket{gen_ai_tool_name="a\"b\\c\nd",le="0.5"} 1"#,
            r#"mcp_server_operation_duration_seconds_bucket{gen_ai_tool_name="a\"b\\c\nd",le="1"} 1"#,
            r#"mcp_server_operation_duration_seconds_bucket{gen_ai_tool_name="a\"b\\c\nd",le="+Inf"} 2"#,
            r#"mcp_server_operation_duration_seconds_sum{gen_ai_tool_name="a\"b\\c\nd"} 2.25"#,
            r#"mcp_server_operation_duration_seconds_count{gen_ai_tool_name="a\"b\\c\nd"} 2"#,
            "# TYPE toolwire_server_active_requests gauge",
            "toolwire_server_active_requests{} 2",
            "# TYPE toolwire_limit_rejections_total counter",
            r#"toolwire_limit_rejections_total{toolwire_limit="deadline"} 3"#,
            "# TYPE toolwire_relay_parked_calls gauge",
            "toolwire_relay_parked_calls{} 4",
        ] {
            assert!(
                text.lines().any(|written| written == line),
                "{line}\n{text}"
            );
        }
    }
}
