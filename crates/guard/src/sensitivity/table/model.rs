//! Providers of models and what people use beside them.

use super::super::detector::{Detector, near, token};

pub(super) const TABLE: &[Detector] = &[
    token(
        "anthropic-key",
        "an Anthropic key",
        &["sk-ant-"],
        r"^sk-ant-(?:(?:api|admin)\d\d-[\w-]{93}AA|(?:[bce-z][a-z]+|a[a-ce-oq-z][a-z]*)\d*-[\w-]{60,200}|[A-Za-z0-9]{60,200})",
    ),
    token("openrouter-key", "an OpenRouter key", &["sk-or-"], r"^sk-or-(?:v\d-)?[0-9a-zA-Z]{32,128}"),
    token("langfuse-key", "a Langfuse secret key", &["sk-lf-"], r"^sk-lf-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    token(
        "openai-key",
        "an OpenAI key",
        &["sk-"],
        r"^sk-(?:(?:proj|svcacct|admin|service|None|user)-[\w-]{20,250}|[\w-]{10,140}T3BlbkFJ[\w-]{20,140}|(?:[a-z]{2,12}-)?[A-Za-z0-9]{32,64})",
    ),
    token("openai-session", "an OpenAI session key", &["sess-"], r"^sess-[A-Za-z0-9]{40}"),
    token("hugging-face-token", "a Hugging Face token", &["hf_", "api_org_"], r"^(?:hf|api_org)_[A-Za-z0-9]{30,40}"),
    token("groq-key", "a Groq key", &["gsk_"], r"^gsk_[A-Za-z0-9]{52}"),
    token("replicate-token", "a Replicate token", &["r8_"], r"^r8_[A-Za-z0-9]{37}"),
    token("xai-key", "an xAI key", &["xai-"], r"^xai-[A-Za-z0-9_]{60,100}"),
    token("perplexity-key", "a Perplexity key", &["pplx-"], r"^pplx-[A-Za-z0-9]{40,60}"),
    token("fireworks-key", "a Fireworks key", &["fw_"], r"^fw_[A-Za-z0-9]{22,40}"),
    token("together-key", "a Together key", &["tgp_v1_"], r"^tgp_v1_[\w-]{40,60}"),
    token("cerebras-key", "a Cerebras key", &["csk-"], r"^csk-[A-Za-z0-9]{40,60}"),
    token("nvidia-key", "an NVIDIA key", &["nvapi-"], r"^(nvapi-[\w-]{64})(?:[^\w-]|$)"),
    token(
        "langsmith-key",
        "a LangSmith key",
        &["lsv2_", "ls__"],
        r"^(?:lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}|ls__[0-9a-f]{32})",
    ),
    token("tavily-key", "a Tavily key", &["tvly-"], r"^tvly-(?:(?:dev|prod)-)?[A-Za-z0-9-]{28,50}"),
    token("pinecone-key", "a Pinecone key", &["pcsk_"], r"^pcsk_[A-Za-z0-9_]{40,90}"),
    token("elevenlabs-key", "an ElevenLabs key", &["sk_"], r"^sk_[0-9a-f]{48}"),
    token("jina-key", "a Jina key", &["jina_"], r"^jina_[A-Za-z0-9_-]{50,70}"),
    token("voyage-key", "a Voyage key", &["pa-"], r"^pa-[A-Za-z0-9_-]{43}"),
    token("firecrawl-key", "a Firecrawl key", &["fc-"], r"^fc-[0-9a-f]{32}"),
    token("e2b-key", "an E2B key", &["e2b_"], r"^e2b_[0-9a-f]{40}"),
    token("ollama-key", "an Ollama key", &["ollama"], r"^ollama[\s_\w=:'\x22.-]{1,30}?([0-9a-f]{32}\.[\w-]{24})"),
    near(
        "deepgram-key",
        "a key of a model's provider",
        &["deepgram", "assemblyai", "cohere", "mistral", "stability"],
        (0, 80),
        r#"(?i)(?:deepgram|assemblyai|cohere|mistral|stability)[\w.-]{0,20}["'\s:=>(,]{1,8}([A-Za-z0-9]{32,48})"#,
    ),
    token("dify-key", "a Dify key", &["app-", "dataset-"], r"^(?:app|dataset)-[A-Za-z0-9]{24}"),
];
