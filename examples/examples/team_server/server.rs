//! The server: shows `Mount`, a mounted server that changes while it serves, and names in the lists of clients.

use toolwire::{Mount, RequestContext, Server, ToolError, ToolHandler, tool};

/// Returns the forecast for a city.
#[tool]
async fn forecast(city: String, unit: String) -> String {
    format!("{city}: 20 {unit}")
}

/// Deletes all forecasts.
#[tool]
async fn delete_all() -> &'static str {
    "deleted"
}

/// The arguments of a tool without any.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

/// Returns the tool that adds a station to the mounted server.
fn add_station(weather: Server) -> ToolHandler {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Station {
        /// The name of the station.
        name: String,
    }

    let add = move |_: RequestContext, station: Station| {
        let weather = weather.clone();
        async move {
            let tool = ToolHandler::typed(station.name, |_: RequestContext, Nothing {}| async {
                "wind"
            });
            weather.add_tool(tool)?;
            Ok::<_, ToolError>("added")
        }
    };
    ToolHandler::typed("add_station", add).with_description("Adds a weather station.")
}

pub(crate) fn server() -> Server {
    let weather = Server::new("weather", "1.0.0")
        .tool(forecast)
        .tool(delete_all);
    let mount = Mount::new("weather", weather.clone())
        .without_tools("delete_*")
        .fix_argument("forecast", "unit", "°C");
    Server::new("app", "1.0.0")
        .tool(add_station(weather))
        .mount_with(mount)
}
