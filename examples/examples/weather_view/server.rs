//! The server: a tool with a view, and a tool for the view alone.

use serde::Serialize;
use toolwire::apps::View;
use toolwire::{JsonSchema, RequestContext, Server, tool};

#[derive(Serialize, JsonSchema)]
struct Forecast {
    /// What to show instead of a view.
    summary: String,
    /// The highest temperature of each day.
    days: Vec<i32>,
}

fn forecast_view() -> View {
    View::new("ui://weather/forecast", include_str!("forecast.html"))
        .with_bridge()
        .with_border(true)
        .with_title("Forecast")
}

/// Shows the weather of the next days.
#[tool(view = forecast_view(), read_only)]
async fn forecast(ctx: &RequestContext, city: String) -> Forecast {
    let summary = if ctx.supports_views() {
        format!("The forecast of {city} is displayed.")
    } else {
        format!("{city} will have 18, 19 and 17 degrees.")
    };
    let days = vec![18, 19, 17];
    Forecast { summary, days }
}

/// Returns another week. Only the view calls it.
#[tool(visible_to("app"), read_only)]
async fn week(offset: i32) -> Forecast {
    Forecast {
        summary: format!("week {offset}"),
        days: (0..7).map(|day| 15 + (day + offset) % 5).collect(),
    }
}

pub(crate) fn server() -> Server {
    Server::new("weather", "1.0.0").tool(forecast).tool(week)
}
