//! The example `weather_view`: a tool with a view.

use serde_json::json;
use toolwire::apps::host::{ToolCaller, is_visible_to};
use toolwire::{Client, ProtocolVersion, ServerCommand};

use crate::client::program;

#[tokio::test]
async fn forecast_has_a_view_and_a_text() {
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        for (shows_views, expected) in [
            (true, "The forecast of Oslo is displayed."),
            (false, "Oslo will have 18, 19 and 17 degrees."),
        ] {
            let mut builder = Client::builder("script", "1.0.0").with_versions([version]);
            if shows_views {
                builder = builder.with_views();
            }
            let client = builder.spawn(ServerCommand::new(program("weather_view")));
            let client = client.await.unwrap();
            let tools = client.list_tools().await.unwrap();
            let view = client.view(&tools[0]).await.unwrap().unwrap();
            assert_eq!(view.uri(), "ui://weather/forecast");
            assert!(view.html().contains("window.toolwire = "), "{version}");
            assert_eq!(view.ui().prefers_border, Some(true));
            assert!(!is_visible_to(&tools[1], ToolCaller::Model));
            let result = client.call_tool("forecast", json!({"city": "Oslo"}));
            let structured = result.await.unwrap().structured_content.unwrap();
            let structured = structured.to_value().unwrap();
            assert_eq!(structured["summary"], expected, "{version}");
            client.close().await;
        }
    }
}
