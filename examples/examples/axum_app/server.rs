//! The application: a page, a health check and the MCP endpoint share one state.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use tokio::net::TcpListener;
use toolwire::transport::http::{HttpOptions, HttpService};
use toolwire::{RequestContext, ToolError};
use toolwire_auth::{ResourceServerConfig, StaticTokens};

/// The state of the application.
#[derive(Default)]
struct Shop {
    requests: AtomicU64,
    /// Cups in stock.
    stock: AtomicU64,
}

/// The MCP server of the shop.
struct Tools {
    shop: Arc<Shop>,
}

#[toolwire::server(name = "axum-app", version = "1.0.0")]
impl Tools {
    /// Adds cups to the stock and returns the new number.
    #[tool]
    fn restock(&self, #[arg(minimum = 1, maximum = 1_000)] cups: u64) -> u64 {
        self.shop.stock.fetch_add(cups, Ordering::SeqCst) + cups
    }

    /// Sells one cup.
    #[tool(scopes("shop:sell"))]
    fn sell(&self, ctx: &RequestContext) -> Result<String, ToolError> {
        let taken = self
            .shop
            .stock
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |cups| {
                cups.checked_sub(1)
            });
        let seller = ctx.auth().subject.as_deref().unwrap_or("unknown");
        match taken {
            Ok(cups) => Ok(format!("{seller} sold a cup, {} are left", cups - 1)),
            Err(_) => Err(ToolError::failed("no cups are left; use restock")),
        }
    }
}

pub(crate) async fn run(address: &str) -> Result<(), Box<dyn Error>> {
    let shop = Arc::new(Shop::default());
    let tokens = StaticTokens::new()
        .with_token("token-of-ann", "ann", "shop")
        .with_token("token-of-bob", "bob", "shop shop:sell");
    let resource_server =
        ResourceServerConfig::new("http://localhost:3000/mcp", ["https://auth.example.com"])
            .with_required_scopes(["shop"])
            .with_supported_scopes(["shop", "shop:sell"])
            .with_verifier(tokens)
            .build()?;
    let server = Tools {
        shop: Arc::clone(&shop),
    }
    .into_server();
    let options = HttpOptions::new().with_authorizer(resource_server);
    let service = HttpService::new(server.clone(), options);

    let app = Router::new()
        .route("/stock", get(stock))
        .route("/requests", get(requests))
        .route_service("/mcp", service.clone())
        // Clients read here which authorization server issues tokens.
        .route_service("/.well-known/{*document}", service)
        .layer(middleware::from_fn_with_state(Arc::clone(&shop), count))
        .with_state(shop);

    let listener = TcpListener::bind(address).await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, app)
        .with_graceful_shutdown(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                server.shutdown();
            }
        })
        .await?;
    Ok(())
}

/// Counts every request, also those to the MCP endpoint.
async fn count(State(shop): State<Arc<Shop>>, request: Request, next: Next) -> Response {
    shop.requests.fetch_add(1, Ordering::SeqCst);
    next.run(request).await
}

async fn stock(State(shop): State<Arc<Shop>>) -> String {
    format!("{} cups", shop.stock.load(Ordering::SeqCst))
}

async fn requests(State(shop): State<Arc<Shop>>) -> String {
    shop.requests.load(Ordering::SeqCst).to_string()
}
