//! A user with a browser: opens a page, agrees, and goes wherever they are sent.

use std::collections::BTreeMap;

use toolwire::proto::auth::form;

use crate::Problem;
use crate::plain_http::{Post, ask, resolved};

/// How often a user is sent on before they give up.
const MOST_STEPS: usize = 10;

/// The user.
#[derive(Debug, Default)]
pub(crate) struct User {
    cookies: BTreeMap<String, String>,
}

/// What a browser shows or does next.
enum Next {
    Go(String),
    Page(String),
}

impl User {
    /// Opens a URL, allows what is asked, and follows until there is nothing more to do.
    pub(crate) async fn log_in(mut self, url: &str) -> Result<(), Problem> {
        let mut request = (url.to_owned(), None);
        for _ in 0..MOST_STEPS {
            let (url, form) = request;
            request = match self.open(&url, form.as_deref()).await? {
                Next::Go(next) => (next, None),
                Next::Page(page) => match answer_to(&page) {
                    Some((action, form)) => (resolved(&url, &action), Some(form)),
                    None => return Ok(()),
                },
            };
        }
        Err(Problem::new("the login sends its user in circles"))
    }

    async fn open(&mut self, url: &str, form: Option<&str>) -> Result<Next, Problem> {
        let cookies = self.cookies.iter();
        let cookies: Vec<String> = cookies
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let post = form.map(|body| Post {
            content_type: "application/x-www-form-urlencoded",
            body,
        });
        let answer = ask(url, &cookies.join("; "), post).await?;
        for cookie in answer.headers("set-cookie") {
            let pair = cookie.split(';').next();
            let pair = pair.and_then(|pair| pair.split_once('='));
            let pair = pair.map(|(name, value)| (name.to_owned(), value.to_owned()));
            self.cookies.extend(pair);
        }
        if let Some(next) = answer.headers("location").next() {
            return Ok(Next::Go(resolved(url, next)));
        }
        if answer.is_ok() {
            Ok(Next::Page(answer.body().to_owned()))
        } else {
            Err(Problem::new(format!("a page does not open: {answer}")))
        }
    }
}

/// Where the form on a page goes, and what it says when the user allows everything.
fn answer_to(page: &str) -> Option<(String, String)> {
    let action = between(page, "<form method=\"post\" action=\"")?;
    let request = between(page, "name=\"request\" value=\"")?;
    let answer = form::encode([("request", request), ("decision", "allow")]);
    Some((action.to_owned(), answer))
}

fn between<'a>(page: &'a str, start: &str) -> Option<&'a str> {
    let (_, rest) = page.split_once(start)?;
    rest.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_answered_and_other_pages_are_read() {
        let page = r#"<form method="post" action="/consent"><input name="request" value="a.b">"#;
        let expected = (
            "/consent".to_owned(),
            "request=a.b&decision=allow".to_owned(),
        );
        assert_eq!(answer_to(page), Some(expected));
        assert_eq!(answer_to("OK. You can close this page."), None);
    }
}
