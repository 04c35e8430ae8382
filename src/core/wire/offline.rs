//! TODO
use crate::core::{
    error::{Failure, Result},
    request::{Request, Response},
};
pub fn encode_request(_request: &Request) -> Result<String> {
    todo!()
}
pub fn decode_request(_body: &str) -> Result<Request> {
    todo!()
}
pub fn decode_response(_body: &str) -> Result<Response, Failure> {
    todo!()
}
pub fn encode_response(_response: &Response) -> String {
    todo!()
}
pub fn answer(_request: &Request) -> Response {
    todo!()
}
