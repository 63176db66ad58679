//! Reactions to invalid input. The comparison with `serde_json` is in `differential`.

mod differential;

use toolwire_types::{RequestId, ResponseId, code};

use super::{Limits, escape_line_separators, read, salvage_id};
use crate::envelope::Envelope;

/// Returns the outcome of `read` in one line.
fn summary(input: &[u8]) -> String {
    let id = |id: &RequestId| format!("{id}");
    let params = |params: Option<&serde_json::value::RawValue>| {
        params.map_or(String::new(), |params| format!(" {params}"))
    };
    match read(input, &Limits::default()) {
        Ok(Envelope::Request(request)) => {
            let params = params(request.params);
            format!("request {} {:?}{params}", id(&request.id), request.method)
        }
        Ok(Envelope::Notification(notification)) => {
            let params = params(notification.params);
            format!("notification {:?}{params}", notification.method)
        }
        Ok(Envelope::Response(response)) => {
            let id = match &response.id {
                ResponseId::Id(request) => id(request),
                ResponseId::Null => "null".to_owned(),
                ResponseId::Absent => "absent".to_owned(),
            };
            match response.outcome {
                Ok(result) => format!("result {id} {result}"),
                Err(error) => format!("error {id} {error:?}"),
            }
        }
        Ok(Envelope::Batch(messages)) => {
            let messages: Vec<&str> = messages.iter().map(|message| message.get()).collect();
            format!("batch {}", messages.join(" | "))
        }
        Err(unreadable) => {
            let id = unreadable.id.as_ref().map_or("no id".to_owned(), id);
            format!("{} {id}", unreadable.error.code)
        }
    }
}

#[track_caller]
fn check(input: impl AsRef<[u8]>, expected: &str) {
    assert_eq!(summary(input.as_ref()), expected);
}

/// Returns a message with these members after `jsonrpc`.
fn message(members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0",{members}}}"#)
}

#[track_caller]
fn check_members(members: &str, expected: &str) {
    check(message(members), expected);
}

/// Returns `params` with an array of this many levels.
fn nested(levels: usize) -> String {
    let (open, close) = ("[".repeat(levels), "]".repeat(levels));
    format!(r#"{{"a":{open}{close}}}"#)
}

#[test]
fn messages_are_classified_by_their_members() {
    check_members(r#""id":1,"method":"ping""#, r#"request 1 "ping""#);
    check_members(r#""method":"m","params":{}"#, r#"notification "m" {}"#);
    check_members(r#""id":"a","result":{"x":[1]}"#, r#"result "a" {"x":[1]}"#);
    check_members(r#""id":1,"result":null"#, "result 1 null");
    check_members(
        r#""id":1,"error":{"code":-1,"message":"no","more":1}"#,
        "error 1 -1 no",
    );
    check(
        "\r\n\t { \"method\" : \"m\" ,\n \"params\" : { } , \"id\" : 7 , \"jsonrpc\" : \"2.0\" } \n",
        r#"request 7 "m" { }"#,
    );
}

#[test]
fn bytes_that_are_not_json_have_no_id() {
    check("", "-32700 no id");
    check("not json", "-32700 no id");
    check(
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xFF\xFE\"}",
        "-32700 no id",
    );
    check("\u{FEFF}{}", "-32700 no id");
    let ping = message(r#""id":1,"method":"ping""#);
    check(format!("{ping}{ping}"), "-32700 no id");
    check(&ping[..ping.len() - 1], "-32700 no id");
    for member in [
        "'x':1",
        r#""x""#,
        r#""x":"#,
        r#""x":1,"#,
        r#""x":01"#,
        r#""x":1."#,
        r#""x":.5"#,
        r#""x":+1"#,
        r#""x":1e"#,
        r#""x":-"#,
        r#""x":1e999"#,
        r#""x":NaN"#,
        r#""x":tru"#,
        r#""x":[1,]"#,
        r#""x":{,}"#,
        r#""x":[}"#,
        r#""x":{"a":1]"#,
        "\"x\":\"\u{1}\"",
        "\"x\":\"\n\"",
        r#""x":"\x""#,
        r#""x":"\u12g4""#,
        r#""x":"\u+123""#,
        r#""x":"\ud800""#,
        r#""x":"\ud800\ud800""#,
        r#""x":"\udc00""#,
        r#""x":"\ud800\n""#,
        "/**/\"x\":1",
    ] {
        check_members(&format!(r#""id":1,"method":"m",{member}"#), "-32700 no id");
    }
}

#[test]
fn scalars_are_not_messages() {
    for scalar in ["42", "\"x\"", "null", "true", " -1.5e3 "] {
        check(scalar, "-32600 no id");
    }
}

#[test]
fn ids_keep_their_type_and_value() {
    let accepted = [
        ("\"\"", "\"\""),
        ("0", "0"),
        ("-1", "-1"),
        ("-0", "0"),
        ("1.0", "1"),
        ("10e-1", "1"),
        ("1.50E+2", "150"),
        ("0.0", "0"),
        ("\"1\"", "\"1\""),
        (r#""\u0061\ud83d\ude00\n""#, "\"a😀\\n\""),
        ("9223372036854775807", "9223372036854775807"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("-9223372036854775808.0", "-9223372036854775808"),
        ("9007199254740993.0", "9007199254740993"),
    ];
    for (id, expected) in accepted {
        check_members(
            &format!(r#""id":{id},"method":"m""#),
            &format!(r#"request {expected} "m""#),
        );
    }
    for id in [
        "null",
        "1.5",
        "9223372036854775808",
        "-9223372036854775809",
        "1e19",
        "1e-1",
        "true",
        "{}",
        "[1]",
        "4503599627370497.25",
    ] {
        check_members(&format!(r#""id":{id},"method":"m""#), "-32600 no id");
    }
}

#[test]
fn string_ids_are_limited_after_unescaping() {
    for (text, length, accepted) in [
        ("a", 1023, true),
        ("a", 1024, true),
        ("a", 1025, false),
        (r"\u0061", 1024, true),
        (r"\u00e9", 512, true),
        (r"\u00e9", 513, false),
    ] {
        let input = message(&format!(r#""id":"{}","method":"m""#, text.repeat(length)));
        assert_eq!(
            summary(input.as_bytes()).starts_with("request"),
            accepted,
            "{text} {length}"
        );
        assert_eq!(salvage_id(input.as_bytes()).is_some(), accepted);
    }
}

#[test]
fn invalid_members_are_rejected_with_the_id() {
    check(r#"{"id":1,"method":"m"}"#, "-32600 1");
    check(r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#, "-32600 1");
    check(r#"{"jsonrpc":2.0,"id":1,"method":"m"}"#, "-32600 1");
    check(
        r#"{"jsonrpc":"\u0032.0","id":1,"method":"m"}"#,
        r#"request 1 "m""#,
    );
    check_members(r#""id":1,"method":"""#, r#"request 1 """#);
    check_members(r#""id":1,"method":5"#, "-32600 1");
    check_members(r#""id":1,"method":"m","params":[]"#, "-32602 1");
    check_members(r#""method":"m","params":[]"#, r#"notification "m""#);
    check_members(r#""id":1,"method":"m","params":null"#, r#"request 1 "m""#);
    check_members(r#""id":1,"Method":"m""#, "-32600 1");
    check_members(r#""id":1,"\u006dethod":"m""#, r#"request 1 "m""#);
    check_members(r#""id":1,"method":"m","extra":[{}]"#, r#"request 1 "m""#);
    check_members(r#""id":1,"method":"m","result":{}"#, "-32600 1");
    check_members(r#""x":1"#, "-32600 no id");
    check_members(r#""id":1"#, "-32600 1");
    check("{}", "-32600 no id");
}

#[test]
fn id_of_an_invalid_response_is_not_echoed_but_can_be_salvaged() {
    for members in [
        r#""id":1,"result":{},"error":{"code":1,"message":""}"#,
        r#""id":1,"error":null"#,
        r#""id":1,"error":{"code":1}"#,
        r#""id":1,"error":{"code":1.5,"message":""}"#,
        r#""id":1,"error":{"code":"1","message":""}"#,
        r#""id":1,"error":[1,"m"]"#,
        r#""id":1,"result":{"a":1,"a":2}"#,
        &format!(r#""id":1,"result":{}"#, nested(500)),
    ] {
        check_members(members, "-32600 no id");
        assert_eq!(salvage_id(message(members).as_bytes()), Some(1.into()));
    }
    check(r#"{"id":1,"result":{}}"#, "-32600 no id");
}

#[test]
fn only_an_error_response_may_lack_an_id() {
    let error = r#""error":{"code":-32700,"message":"what"}"#;
    check_members(error, "error absent -32700 what");
    check_members(&format!(r#""id":null,{error}"#), "error null -32700 what");
    check_members(&format!(r#""id":true,{error}"#), "-32600 no id");
    check_members(r#""result":{}"#, "-32600 no id");
    check_members(r#""id":null,"result":{}"#, "-32600 no id");
}

#[test]
fn names_may_not_repeat_at_any_depth() {
    check_members(r#""method":"a","id":3,"method":"b""#, "-32600 3");
    check_members(r#""id":1,"method":"a","id":1"#, "-32600 no id");
    check_members(r#""id":1,"method":"a","\u0069d":2"#, "-32600 no id");
    let params = |params: &str, expected: &str| {
        check_members(
            &format!(r#""id":1,"method":"m","params":{params}"#),
            expected,
        );
    };
    params(r#"{"a":{"x":1,"y":2,"x":3}}"#, "-32600 1");
    params(r#"{"a":[[{"x":1,"\u0078":3}]]}"#, "-32600 1");
    params(
        r#"{"a":{"x":1},"b":{"x":1},"x":[]}"#,
        r#"request 1 "m" {"a":{"x":1},"b":{"x":1},"x":[]}"#,
    );
    params(
        r#"{"a":1,"A":1,"":1," a":1}"#,
        r#"request 1 "m" {"a":1,"A":1,"":1," a":1}"#,
    );
}

#[test]
fn repeated_names_are_found_in_objects_of_every_size() {
    for size in [2, 15, 16, 17, 18, 31, 32, 33, 40, 1000] {
        for (first, second) in [(0, size - 1), (size / 2, size - 1), (0, 1)] {
            let object = |repeat: Option<&str>| {
                let name = |at| match repeat {
                    Some(repeat) if at == second => repeat.replace('#', &first.to_string()),
                    _ => format!("n{at}"),
                };
                let members: Vec<_> = (0..size).map(|at| format!("\"{}\":0", name(at))).collect();
                // An open object around it, and a large one before it.
                let params = format!(r#"{{"n0":{{{}}},"after":1}}"#, members.join(","));
                message(&format!(r#""id":1,"method":"m","params":{params}"#))
            };
            if first != second {
                assert!(
                    summary(object(None).as_bytes()).starts_with("request 1"),
                    "{size}"
                );
                check(object(Some("n#")), "-32600 1");
                check(object(Some(r"\u006e#")), "-32600 1");
            }
        }
    }
}

#[test]
fn reopened_containers_are_distinguished_at_every_depth() {
    // Every depth has an object, then an array, then an object again, each inside the one around it.
    for levels in [1, 13, 14, 15, 16, 17, 30, 100] {
        let wrapped = |inner: &str| {
            (0..levels).fold(inner.to_owned(), |inner, level| match level % 2 {
                0 => format!(r#"{{"a":[{{}}],"b":{inner},"c":{{"a":[]}}}}"#),
                _ => format!(r#"[{{"a":0}},{inner},[[]],{{"a":0}}]"#),
            })
        };
        let with = |inner: &str| {
            let params = format!(r#"{{"x":{}}}"#, wrapped(inner));
            message(&format!(r#""id":1,"method":"m","params":{params}"#))
        };
        let whole = with(r#"[{"a":0},{"a":0}]"#);
        assert!(
            summary(whole.as_bytes()).starts_with("request 1"),
            "{levels}"
        );
        check(with(r#"[{"a":0,"a":0}]"#), "-32600 1");
        for wrong in ["[}", "{]", r#"[{"a":[]]"#, r#"{"a":{},0}"#, r#"["a":0]"#] {
            check(with(wrong), "-32700 no id");
        }
    }
}

#[test]
fn nesting_beyond_the_limit_keeps_the_id() {
    let deep = |levels: usize| {
        message(&format!(
            r#""params":{},"method":"m","id":7"#,
            nested(levels)
        ))
    };
    // The message and `params` are two containers themselves.
    assert!(summary(deep(124).as_bytes()).starts_with("request 7"));
    assert!(summary(deep(125).as_bytes()).starts_with("request 7"));
    check(deep(126), "-32600 7");
    check(deep(100_000), "-32600 7");
    check(deep(200).replace('}', "]"), "-32600 no id");
    check("[".repeat(100_000), "-32600 no id");
    check(r#"{"a":"#.repeat(100_000), "-32600 no id");
    check(
        message(&format!(r#""id":1,"id":1,"params":{}"#, nested(200))),
        "-32600 no id",
    );

    let within = |depth: usize, input: &str| {
        let limits = Limits {
            depth,
            ..Limits::default()
        };
        read(input.as_bytes(), &limits).map(drop)
    };
    let shallow = message(r#""id":1,"method":"m","params":{}"#);
    assert!(within(2, &shallow).is_ok());
    let rejected = within(1, &shallow).unwrap_err();
    assert_eq!(
        (rejected.error.code, rejected.id),
        (code::INVALID_REQUEST, Some(1.into()))
    );
    assert!(within(0, "{}").is_err());
    assert!(within(usize::MAX, &deep(126)).is_err());
}

#[test]
fn batches_are_split_without_parsing_their_messages() {
    check(
        r#" [ {"a":1,"a":2} , 5,[] ]"#,
        r#"batch {"a":1,"a":2} | 5 | []"#,
    );
    check("[]", "-32600 no id");
    check("[ ]", "-32600 no id");
    check("[1,2", "-32700 no id");
    let ones = |count: usize| format!("[{}1]", "1,".repeat(count - 1));
    assert!(summary(ones(1023).as_bytes()).starts_with("batch"));
    assert!(summary(ones(1024).as_bytes()).starts_with("batch"));
    check(ones(1025), "-32600 no id");
}

#[test]
fn id_is_salvaged_from_rejected_messages() {
    let check = |input: &[u8], expected: Option<RequestId>| assert_eq!(salvage_id(input), expected);
    check(br#"{"id":1}"#, Some(1.into()));
    check(br#"{"x":{"id":2},"id":"a"}"#, Some("a".into()));
    check(
        br#"{"x":"\"id\":3","y":[{"}":"]"}],"id":4}"#,
        Some(4.into()),
    );
    check(br#"{"id":1,"id":2}"#, None);
    check(br#"{"id":null}"#, None);
    check(br#"[{"id":1}]"#, None);
    check(br#"{"id":1"#, None);
    check(br#"{"id":1} x"#, None);
    check(b"{\"id\":1,\"x\":\"\xFF\"}", None);
    check(b"", None);
}

#[test]
fn large_hostile_object_costs_no_more_than_sorting_it() {
    let members: Vec<String> = (0..100_000)
        .map(|at| format!(r#""\u0061{at}":0"#))
        .collect();
    let params = format!("{{{}}}", members.join(","));
    let input = message(&format!(r#""id":1,"method":"m","params":{params}"#));
    assert!(read(input.as_bytes(), &Limits::default()).is_ok());
}

#[test]
fn characters_that_look_like_line_ends_are_escaped() {
    let check = |input: &str, expected: &str| {
        let escaped = escape_line_separators(input.as_bytes());
        assert_eq!(escaped, expected.as_bytes());
        let borrowed = matches!(escaped, std::borrow::Cow::Borrowed(_));
        assert_eq!(borrowed, input == expected);
    };
    check("", "");
    check(r#""plain é “quoted” ©""#, r#""plain é “quoted” ©""#);
    check("\"\u{85}\u{2028}x\u{2029}\"", r#""\u0085\u2028x\u2029""#);
    check("\"é\u{2029}©\"", r#""é\u2029©""#);
}

#[test]
fn defined_members_of_params_are_extracted() {
    #[track_caller]
    fn check(params: &str, expected: &[(&str, &str)]) {
        let input = message(&format!(r#""id":1,"method":"m","params":{params}"#));
        let Ok(Envelope::Request(request)) = read(input.as_bytes(), &Limits::default()) else {
            panic!("{input} is a request");
        };
        let members = request.members;
        let meta = members.in_meta;
        let found = [
            ("_meta", members.meta),
            ("name", members.name),
            ("arguments", members.arguments),
            ("uri", members.uri),
            ("taskId", members.task_id),
            ("protocolVersion", members.protocol_version),
            ("inputResponses", members.input_responses),
            ("requestState", members.request_state),
            ("_meta version", meta.protocol_version),
            ("_meta capabilities", meta.client_capabilities),
            ("_meta info", meta.client_info),
            ("_meta level", meta.log_level),
            ("_meta progressToken", meta.progress_token),
        ];
        let found: Vec<(&str, &str)> = found
            .iter()
            .filter_map(|(name, part)| part.map(|part| (*name, part.get())))
            .collect();
        assert_eq!(found, expected, "{params}");
    }

    check("{}", &[]);
    check(
        r#"{ "name" : "a\"b" , "arguments" : { "name" : 1, "_meta": {"progressToken": 2} } , "other":[{}] }"#,
        &[
            ("name", r#""a\"b""#),
            (
                "arguments",
                r#"{ "name" : 1, "_meta": {"progressToken": 2} }"#,
            ),
        ],
    );
    check(
        r#"{"uri":"u","taskId":"t","protocolVersion":"v","inputResponses":{},"requestState":""}"#,
        &[
            ("uri", r#""u""#),
            ("taskId", r#""t""#),
            ("protocolVersion", r#""v""#),
            ("inputResponses", "{}"),
            ("requestState", r#""""#),
        ],
    );
    // An escaped name is the same name.
    check(
        r#"{"\u005fmeta":{"progress\u0054oken":7}}"#,
        &[
            ("_meta", r#"{"progress\u0054oken":7}"#),
            ("_meta progressToken", "7"),
        ],
    );
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"v","io.modelcontextprotocol/clientCapabilities":{"a":{"progressToken":1}},"io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/logLevel":"info","traceparent":"p","x":{"progressToken":1}}"#;
    check(
        &format!(r#"{{"_meta":{meta},"name":"n"}}"#),
        &[
            ("_meta", meta),
            ("name", r#""n""#),
            ("_meta version", r#""v""#),
            ("_meta capabilities", r#"{"a":{"progressToken":1}}"#),
            ("_meta info", "{}"),
            ("_meta level", r#""info""#),
        ],
    );
    // `null` counts as absent, and a value that is not an object has no members.
    check(r#"{"_meta":null,"name":null,"arguments":null}"#, &[]);
    check(
        r#"{"_meta":["progressToken",{"progressToken":1}]}"#,
        &[("_meta", r#"["progressToken",{"progressToken":1}]"#)],
    );
    check(
        r#"{"arguments":{"params":{"name":"x"}},"x":{"_meta":{"progressToken":"b"}}}"#,
        &[("arguments", r#"{"params":{"name":"x"}}"#)],
    );
}

#[test]
fn only_members_of_params_are_extracted() {
    let input = message(
        r#""id":1,"method":"m","result2":{"name":"x","_meta":{"progressToken":"b"}},"params":{"uri":"u"},"z":{"name":"y"}"#,
    );
    let Ok(Envelope::Request(request)) = read(input.as_bytes(), &Limits::default()) else {
        panic!("{input} is a request");
    };
    assert!(request.members.name.is_none());
    assert!(request.members.in_meta.progress_token.is_none());
    assert_eq!(request.members.uri.map(|uri| uri.get()), Some(r#""u""#));
}
