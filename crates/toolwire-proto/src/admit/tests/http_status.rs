//! The HTTP status of errors.

use super::*;
use crate::requests::overloaded_error;

#[test]
fn rejections_before_dispatch_have_status_400() {
    let check = |code: i64, legacy: u16, modern: u16| {
        assert_eq!(
            http_status_before_dispatch(code, Era::Legacy),
            legacy,
            "{code}"
        );
        assert_eq!(
            http_status_before_dispatch(code, Era::Modern),
            modern,
            "{code}"
        );
    };
    check(-32600, 400, 400);
    check(-32602, 400, 400);
    check(-32022, 400, 400);
    check(-32020, 200, 400);
    check(-32601, 200, 404);
    check(-32603, 200, 200);
}

#[test]
fn errors_during_dispatch_have_their_http_status() {
    let check = |code: i64, legacy: u16, modern: u16| {
        assert_eq!(http_status_for(code, Era::Legacy), legacy, "{code}");
        assert_eq!(http_status_for(code, Era::Modern), modern, "{code}");
    };
    check(-32700, 200, 200);
    check(-32600, 200, 200);
    check(-32601, 200, 404);
    check(-32602, 200, 200);
    check(-32603, 200, 200);
    check(-32020, 200, 400);
    check(-32021, 200, 400);
    check(-32022, 200, 400);
    check(-32002, 200, 200);
    check(-1, 200, 200);
    check(1234, 200, 200);
}

#[test]
fn overloaded_requests_have_status_503() {
    for era in [Era::Legacy, Era::Modern] {
        assert_eq!(http_status_of(&overloaded_error("later"), era), 503);
        assert_eq!(http_status_of(&ErrorObject::internal("no"), era), 200);
    }
    assert_eq!(
        http_status_of(&ErrorObject::method_not_found("m"), Era::Modern),
        404
    );
}
