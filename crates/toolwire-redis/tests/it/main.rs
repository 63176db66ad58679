//! The stores with a real engine.

mod connection;
mod engine;
mod nonces;
mod tasks;
mod workers;
