use super::*;

/// Reads the files of a small view.
fn load(path: &str) -> Result<Vec<u8>, String> {
    let text = match path {
        "app.js" => "const tag = '</SCRIPT><!--';",
        "module.js" => "export const a = 1; import('./later.js');",
        "imports.js" => "// first\n  import { a } from './module.js';",
        "css/style.css" => "b { background: url(../dot.gif) } i { src: url('f/a.woff2') }",
        "end.css" => "/* </Style> */",
        "dot.gif" => "GIF",
        "css/f/a.woff2" => "font",
        "data.bin" => "?",
        "latin.js" => return Ok(vec![0xe4]),
        "large.png" => return Ok(vec![0; MAX_DOCUMENT_BYTES + 1]),
        _ => return Err("cannot be read: no such file".to_owned()),
    };
    Ok(text.as_bytes().to_vec())
}

const GIF: &str = "data:image/gif;base64,R0lG";

#[test]
fn local_files_become_part_of_the_document() {
    fn check(html: &str, expected: &str) {
        let bundled = bundle(html, &mut load).map_err(|error| error.to_string());
        assert_eq!(bundled.as_deref(), Ok(expected), "{html}");
    }
    check("<!doctype html><p>a", "<!doctype html><p>a");
    check(
        "<script src=app.js integrity=\"x\" id='s'>unused</script>b",
        "<script id='s'>const tag = '<\\/script><\\!--';</script>b",
    );
    check(
        "<script type=module src=/module.js></script>",
        "<script type=module>export const a = 1; import('./later.js');</script>",
    );
    check(
        "<script>'<img src=a>'</script>",
        "<script>'<img src=a>'</script>",
    );
    check("<title><img src=a></title>", "<title><img src=a></title>");
    check("<!-- <img src=a> -->", "<!-- <img src=a> -->");
    check(
        "<link media=\"print\" rel=\"stylesheet\" href=\"css/style.css\">",
        &format!(
            "<style media=\"print\">b {{ background: url(\"{GIF}\") }} \
             i {{ src: url(\"data:font/woff2;base64,Zm9udA==\") }}</style>"
        ),
    );
    check(
        "<link rel=stylesheet href=end.css>",
        "<style>/* <\\/style> */</style>",
    );
    check("<link rel=\"modulepreload\" href=\"https://a/b.js\">a", "a");
    check(
        "<link rel=\"shortcut icon\" href=dot.gif>",
        &format!("<link rel=\"shortcut icon\" href=\"{GIF}\">"),
    );
    check(
        "<link rel=license href=https://a/>",
        "<link rel=license href=https://a/>",
    );
    check(
        "<IMG alt=a SRC='dot.gif?v=1'/>",
        &format!("<IMG alt=a src=\"{GIF}\"/>"),
    );
    check("<img src=data:,a>", "<img src=data:,a>");
    check(
        "<video poster=dot.gif>",
        &format!("<video poster=\"{GIF}\">"),
    );
    check("<svg><use href=#a /></svg>", "<svg><use href=#a /></svg>");
    check(
        "<style>a{b:url(dot.gif)}</style>",
        &format!("<style>a{{b:url(\"{GIF}\")}}</style>"),
    );
    check(
        "<p style=\"b: url(dot.gif)\">",
        &format!("<p style=\"b: url(&quot;{GIF}&quot;)\">"),
    );
    check("<a href=https://a/>", "<a href=https://a/>");
}

#[test]
fn deferred_scripts_run_after_the_document() {
    fn check(html: &str, expected: &str) {
        let bundled = bundle(html, &mut |path| Ok(path.as_bytes().to_vec()));
        assert_eq!(bundled.as_deref(), Ok(expected), "{html}");
    }
    let scripts = "<script defer src=a.js></script><script defer src=b.js></script>";
    check(
        &format!("<html><head>{scripts}</head><body>c</body></html>"),
        "<html><head></head><body>c<script>a.js</script><script>b.js</script></body></html>",
    );
    check(
        &format!("{scripts}c"),
        "c<script>a.js</script><script>b.js</script>",
    );
    // A script that contains the end tag of a body is text.
    check(
        "<!doctype html><script defer src=a.js></script><script>x = \"<body></body>\"</script>",
        "<!doctype html><script>x = \"<body></body>\"</script><script>a.js</script>",
    );
    check(
        "<script defer src=a.js></script>c</html>",
        "c<script>a.js</script></html>",
    );
    check(
        "<script defer type=module src=a.js></script>c",
        "<script type=module>a.js</script>c",
    );
    check(
        "<script defer async src=a.js></script>c",
        "<script>a.js</script>c",
    );
}

#[test]
fn errors_name_the_tag_and_the_remedy() {
    fn check(html: &str, problem: &str) {
        let error = bundle(html, &mut load).expect_err(html).to_string();
        let (tag, _) = html.split_once('>').expect("a tag");
        assert!(error.starts_with(&format!("{tag}>: ")), "{error}");
        assert!(error.contains(problem), "{error}");
    }
    check(
        "<script src=https://a/b.js></script>",
        "copy it beside the document",
    );
    check("<script src=//a/b.js></script>", "is not a local file");
    check(
        "<script src=data:,a></script>",
        "write the script into the element",
    );
    check(
        "<script src=none.js></script>",
        "\"none.js\" cannot be read: no such file",
    );
    check(
        "<script src=latin.js></script>",
        "\"latin.js\" is not UTF-8",
    );
    check("<script src=../app.js></script>", "leaves the directory");
    check(
        "<script type=module src=imports.js></script>",
        "`import { a } from './module.js';`",
    );
    check(
        "<script type=module>import 'a'</script>",
        "build it into one file",
    );
    check(
        "<link rel=stylesheet href=http://a/b.css>",
        "is not a local file",
    );
    check("<link rel=stylesheet>", "write the style sheet into");
    check("<link rel=manifest href=m.json>", "remove the tag");
    check("<img src=https://a/b.png>", "is not a local file");
    check("<img src=data.bin>", "the type of \"data.bin\" is unknown");
    check("<img srcset='a.png 2x'>", "use `src`");
    check("<style>@import 'a.css'</style>", "write a `link`");
    check("<style>a{b:url(none.gif)}</style>", "cannot be read");
    check("<iframe src=dot.gif>", "remove the tag");
    check("<object data=dot.gif>", "remove the tag");
    check("<base href=/>", "remove the tag");
    check("<use href=a.svg#b>", "copy the symbol");
}

#[test]
fn modules_that_need_other_modules_are_rejected() {
    fn check(line: &str, is_valid: bool) {
        let html = format!("<script type=module>\n  {line}\n</script>");
        assert_eq!(bundle(&html, &mut load).is_ok(), is_valid, "{line}");
        let html = format!("<script>\n  {line}\n</script>");
        assert!(bundle(&html, &mut load).is_ok(), "{line}");
    }
    for line in [
        "import './a.js'",
        "import{a}from\"./a.js\"",
        "import * as a from './a.js'",
        "export { a } from './a.js'",
        "export*from'./a.js'",
        "export * as a from \"./a.js\"",
        "export * as from from './a.js'",
        "export {\n  a,\n} from './a.js'",
        "export {\n  a,\n}from\"./a.js\"",
    ] {
        check(line, false);
    }
    for line in [
        "important()",
        "const from = '}'",
        "export const a = \"from './a.js'\"",
        "export { a }",
        "export default { from: './a.js' }",
        "} // from a list",
        "}, \"from 'a'\")",
        "} else { show(\"from 'a'\") }",
        "export { a }; show(\"from 'a'\")",
        " * from './a.js'",
        // Hosts may load it, if the policy of the view allows this.
        "const a = await import('./a.js')",
    ] {
        check(line, true);
    }
}

#[test]
fn size_of_the_document_is_limited() {
    let tag = "<script></script>";
    let document = |bytes: usize| {
        let mut load = |_: &str| Ok(vec![b'a'; bytes]);
        bundle("<script src=a.js></script>", &mut load)
    };
    let whole = document(MAX_DOCUMENT_BYTES - tag.len()).expect("the maximum size");
    assert_eq!(whole.len(), MAX_DOCUMENT_BYTES);
    let error = document(MAX_DOCUMENT_BYTES - tag.len() + 1).expect_err("too large");
    assert!(
        error.to_string().contains("more than 4194304 bytes"),
        "{error}"
    );
    let error = bundle("<img src=large.png>", &mut load).expect_err("too large");
    assert!(
        error.to_string().contains("more than 4194304 bytes"),
        "{error}"
    );
    // Text is counted as well, also after the last tag.
    for (bytes, is_valid) in [(MAX_DOCUMENT_BYTES, true), (MAX_DOCUMENT_BYTES + 1, false)] {
        let text = "a".repeat(bytes - "<p>".len());
        for html in [format!("<p>{text}"), format!("{text}<p>")] {
            assert_eq!(bundle(&html, &mut load).is_ok(), is_valid);
        }
    }
    // A style sheet that repeats a file is stopped while it is written.
    let repeated = "url(a.png)".repeat(100);
    let mut loads = 0;
    let style = format!("<style>{repeated}</style>");
    let error = bundle(&style, &mut |_| {
        loads += 1;
        Ok(vec![0; 1024 * 1024])
    });
    assert!(error.is_err());
    assert!(loads < 5, "{loads}");
}
