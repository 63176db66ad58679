//! The variable `OTEL_PROPAGATORS`.

/// What is sent and read beside the messages.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OtelPropagators {
    pub(super) trace_context: bool,
    pub(super) baggage: bool,
    /// The names that are not known, separated by commas.
    pub(super) unknown: Option<String>,
}

impl OtelPropagators {
    /// Reads the value of the variable. Without one, the trace context and the baggage are propagated.
    pub(super) fn read(variable: Option<&str>) -> Self {
        let value = variable.unwrap_or_default().trim();
        let value = if value.is_empty() {
            "tracecontext,baggage"
        } else {
            value
        };
        let names: Vec<&str> = value.split(',').map(str::trim).collect();
        let known = ["tracecontext", "baggage", "none", ""];
        let unknown = names.iter().filter(|name| !known.contains(name));
        let unknown: Vec<&str> = unknown.copied().collect();
        let has = |name: &str| names.contains(&name) && !names.contains(&"none");
        Self {
            trace_context: has("tracecontext"),
            baggage: has("baggage"),
            unknown: (!unknown.is_empty()).then(|| unknown.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_names_the_propagators() {
        let check = |variable: Option<&str>, trace_context, baggage, unknown: Option<&str>| {
            let expected = OtelPropagators {
                trace_context,
                baggage,
                unknown: unknown.map(str::to_owned),
            };
            assert_eq!(OtelPropagators::read(variable), expected, "{variable:?}");
        };
        check(None, true, true, None);
        check(Some(" "), true, true, None);
        check(Some("tracecontext"), true, false, None);
        check(Some("baggage, tracecontext"), true, true, None);
        check(Some("none"), false, false, None);
        check(Some("tracecontext,none"), false, false, None);
        check(
            Some("b3,tracecontext,jaeger"),
            true,
            false,
            Some("b3, jaeger"),
        );
        check(Some("b3"), false, false, Some("b3"));
    }
}
