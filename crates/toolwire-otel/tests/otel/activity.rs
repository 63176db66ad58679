//! Whether requests pass the middleware at all.

use opentelemetry_sdk::metrics::SdkMeterProvider;
use toolwire::middleware::Middleware;
use toolwire::{Client, Era};
use toolwire_otel::TelemetryMode;

use super::*;

/// Serves a request, and returns whether the telemetry is active then.
async fn is_active_after_request(telemetry: &Telemetry) -> bool {
    let server = server().with_middleware(telemetry.clone());
    let client = connect(Client::builder("agent", "1.0.0"), &server, Era::Modern);
    send(&client.await, "tools/call add").await;
    Middleware::is_active(telemetry)
}

#[tokio::test]
async fn telemetry_without_a_provider_is_inactive_after_the_first_request() {
    // No test of this binary sets a global provider.
    let telemetry = Telemetry::new();
    assert!(Middleware::is_active(&telemetry));
    assert!(!is_active_after_request(&telemetry).await);
}

#[tokio::test]
async fn telemetry_with_something_to_do_stays_active() {
    assert!(is_active_after_request(&Traced::new().telemetry).await);
    let meters = SdkMeterProvider::builder().build();
    let metered = Telemetry::new().with_meter_provider(&meters);
    assert!(is_active_after_request(&metered).await);
    let propagating = Telemetry::new().with_mode(TelemetryMode::PropagationOnly);
    assert!(is_active_after_request(&propagating).await);
    let off = Telemetry::new().with_mode(TelemetryMode::Off);
    assert!(!is_active_after_request(&off).await);
}
