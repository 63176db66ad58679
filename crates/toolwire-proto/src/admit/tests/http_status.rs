//! The HTTP status of errors.

use super::*;

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
